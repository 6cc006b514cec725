"""The bodies of new pods; what comes of them on a real server is in the stories."""

from typing import Any

from jobset.local.jobs import templates
from tests.local.jobs.made import indexed, job

OWNER = {
    'apiVersion': 'batch/v1',
    'kind': 'Job',
    'name': 'j',
    'uid': 'u',
    'controller': True,
    'blockOwnerDeletion': True,
}


def _template(**spec: Any) -> dict[str, Any]:
    return {'template': {'spec': {'containers': [{'name': 'a'}]} | spec}}


def test_plain_pod() -> None:
    made = templates.Maker(job(), suffix=lambda: 'abcde').make()

    assert made == {
        'apiVersion': 'v1',
        'kind': 'Pod',
        'metadata': {
            'generateName': 'j-',
            'name': 'j-abcde',
            'namespace': 'ns',
            'labels': {'job': 'j'},
            'finalizers': ['batch.kubernetes.io/job-tracking'],
            'ownerReferences': [OWNER],
        },
        'spec': {'restartPolicy': 'Never', 'containers': [{'name': 'a'}]},
    }


def test_pods_do_not_share_what_tells_them_apart() -> None:
    maker = templates.Maker(indexed(2, backoffLimitPerIndex=1), suffix=lambda: 'abcde')

    first, second = maker.make(0, failures=0), maker.make(1, failures=2, ignored=1)

    assert first['metadata']['annotations'] == {
        'batch.kubernetes.io/job-completion-index': '0',
        'batch.kubernetes.io/job-index-failure-count': '0',
    }
    assert second['metadata']['annotations'] == {
        'batch.kubernetes.io/job-completion-index': '1',
        'batch.kubernetes.io/job-index-failure-count': '2',
        'batch.kubernetes.io/job-index-ignored-failure-count': '1',
    }
    assert [each['spec']['hostname'] for each in (first, second)] == ['j-0', 'j-1']
    assert [each['metadata']['name'] for each in (first, second)] == ['j-0-abcde', 'j-1-abcde']


def test_unknown_fields_survive() -> None:
    made = templates.Maker(job(**_template(futureField={'x': [1]}))).make()

    assert made['spec']['futureField'] == {'x': [1]}


def test_index_is_told_to_all_containers_but_those_that_say_it_themselves() -> None:
    own = {'name': 'JOB_COMPLETION_INDEX', 'value': '7'}
    spec = _template(containers=[{'name': 'a', 'env': [own]}, {'name': 'b'}], initContainers=[{'name': 'c'}])

    made = templates.Maker(indexed(1, **spec)).make(0)['spec']

    told = {
        'name': 'JOB_COMPLETION_INDEX',
        'valueFrom': {
            'fieldRef': {
                'apiVersion': 'v1',
                'fieldPath': "metadata.labels['batch.kubernetes.io/job-completion-index']",
            }
        },
    }
    assert [each['env'] for each in (*made['initContainers'], *made['containers'])] == [[told], [own], [told]]


def test_names_differ() -> None:
    maker = templates.Maker(job())

    names = {maker.make()['metadata']['name'] for _ in range(50)}

    assert len(names) == 50
    assert all(set(name.removeprefix('j-')) <= set(templates.LETTERS) for name in names)


def test_restart_policy() -> None:
    assert templates.restart_policy(job(**_template(restartPolicy='OnFailure'))) == 'OnFailure'
