"""JobSets from Python."""

from jobset import client
from jobset.api import types
from jobset.cli import checking
from jobset.cli.output import document
from jobset.client import manifests


def test_the_least() -> None:
    assert client.build('hello', client.group('main', command=['echo', 'hello'])) == {
        'apiVersion': 'jobset.x-k8s.io/v1alpha2',
        'kind': 'JobSet',
        'metadata': {'name': 'hello'},
        'spec': {
            'replicatedJobs': [
                {
                    'name': 'main',
                    'replicas': 1,
                    'template': {
                        'spec': {
                            'backoffLimit': 0,
                            'completions': 1,
                            'parallelism': 1,
                            'template': {
                                'spec': {
                                    'restartPolicy': 'Never',
                                    'containers': [{'name': 'main', 'image': 'busybox', 'command': ['echo', 'hello']}],
                                }
                            },
                        }
                    },
                }
            ]
        },
    }


async def test_everything_is_taken_by_a_server() -> None:
    made = client.build(
        'all',
        client.group(
            'prep', command=['a'], args=['b'], env={'A': '1'}, requests={'cpu': '1'}, limits={'memory': '1Gi'}
        ),
        client.group(
            'train',
            command=['a'],
            jobs=2,
            pods=4,
            depends_on={'prep': types.DependsOnStatus.COMPLETE},
            grace_seconds=5,
            restart_policy='OnFailure',
            pod={'nodeSelector': {'a': 'b'}},
        ),
        namespace='ns',
        labels={'a': 'b'},
        annotations={'c': 'd'},
        max_restarts=3,
        restart_strategy=types.RestartStrategy.BLOCKING_RECREATE,
        success=types.Operator.ANY,
        success_of=['train'],
        coordinator='train',
        suspend=True,
        ttl_seconds=60,
    )
    (read,) = manifests.parse(document(made, 'yaml').encode(), 'f').documents
    assert read.obj == made
    verdict = await checking.check(read)
    assert (verdict.extent, verdict.problems) == (checking.Extent.FULL, [])
