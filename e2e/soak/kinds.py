"""The kinds of JobSets that the load runs: what each asks for, what happens to its Jobs, and how it must end."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from e2e.soak.server import Object

COMPLETE: Final = 'complete'
FAIL: Final = 'fail'
STAY: Final = 'stay'

MESSAGE: Final = 'pod failed: exit code 7'
ENDED: Final = {
    'Completed': ('Completed', 'AllJobsCompleted', 'jobset completed successfully'),
    'Failed': ('Failed', 'ReachedMaxRestarts', 'jobset failed due to reaching max number of restarts {first}'),
    'Refused': ('Failed', 'FailJobSetFailurePolicyAction', 'applying FailJobSet failure policy action {first}'),
    'Alone': ('Failed', 'FailedJobs', 'jobset failed due to one or more job failures {first}'),
}


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of JobSet."""

    name: str
    parts: Mapping[str, int]
    """Replicated jobs and their sizes."""

    attempts: tuple[Mapping[str, str], ...] = ({},)
    """What happens to each Job of each attempt, by ``part-index``; to the others: they complete."""

    end: str = 'Completed'
    counted: int = 0
    """``restartsCountTowardsMax`` in the end."""

    spec: Mapping[str, Any] = field(default_factory=dict)
    depends: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    stages: bool = False
    """Jobs end when they like: those of a later stage would wait for ever otherwise."""

    pauses: int = 0
    """How often the set is suspended: at its creation, and then while it runs."""

    startup: str = ''
    """The startup condition in the end."""

    claims: tuple[str, ...] = ()

    def jobs(self, name: str) -> list[str]:
        """The names of all Jobs of an attempt."""
        return [f'{name}-{part}-{index}' for part, size in self.parts.items() for index in range(size)]

    def fate(self, attempt: int, job: str) -> str:
        """What happens to a Job, given without the name of the set."""
        return self.attempts[attempt].get(job, COMPLETE) if attempt < len(self.attempts) else STAY

    def manifest(self, name: str) -> Object:
        """The JobSet in full, with the defaults that admission would write."""
        network = {'enableDNSHostnames': True, 'publishNotReadyAddresses': True}
        spec = {'network': network, 'suspend': self.pauses > 0, **self.spec}
        if 'successPolicy' not in spec:
            spec['successPolicy'] = {'operator': 'All'}
        return {
            'apiVersion': 'jobset.x-k8s.io/v1alpha2',
            'kind': 'JobSet',
            'metadata': {'name': name},
            'spec': spec | {'replicatedJobs': [self._part(part, size) for part, size in self.parts.items()]},
        }

    def _part(self, part: str, size: int) -> Object:
        mounts = [{'name': claim, 'mountPath': f'/{claim}'} for claim in self.claims]
        container = {'name': 'main', 'image': 'localhost/nothing', 'volumeMounts': mounts}
        pod = {'spec': {'restartPolicy': 'Never', 'containers': [container]}}
        indexed = {'parallelism': 2, 'completions': 2, 'completionMode': 'Indexed', 'backoffLimit': 0}
        made: Object = {'name': part, 'replicas': size, 'template': {'spec': indexed | {'template': pod}}}
        if part in self.depends:
            other, status = self.depends[part]
            made['dependsOn'] = [{'name': other, 'status': status}]
        return made

    def first(self, name: str) -> str:
        """The Job that the message of a failure names."""
        failed = [job for job, fate in self.attempts[-1].items() if fate == FAIL]
        return f'(first failed job: {name}-{failed[0]})' if failed else ''

    def counters(self) -> list[Object]:
        """``status.replicatedJobsStatus`` in the end, when what was left running is gone."""
        last, entries = self.attempts[-1], []
        for part, size in self.parts.items():
            fates = [last.get(f'{part}-{index}', COMPLETE) for index in range(size)]
            counts = {'succeeded': fates.count(COMPLETE), 'failed': fates.count(FAIL)}
            entries.append({'name': part, 'ready': 0, 'active': 0, 'suspended': 0, **counts})
        return entries


def _claim(name: str, kept: str) -> Object:
    request = {'accessModes': ['ReadWriteOnce'], 'resources': {'requests': {'storage': '1Gi'}}}
    return {
        'templates': [{'metadata': {'name': name}, 'spec': request}],
        'retentionPolicy': {'whenDeleted': kept},
    }


def _rule(action: str, **filters: object) -> Object:
    return {'name': 'rule', 'action': action, **filters}


KINDS: Final = (
    Kind(
        name='chain',
        parts={'data': 2, 'train': 2, 'report': 1},
        depends={'train': ('data', 'Complete'), 'report': ('train', 'Ready')},
        stages=True,
    ),
    Kind(
        name='in-order',
        parts={'a': 2, 'b': 1, 'c': 2},
        spec={'startupPolicy': {'startupPolicyOrder': 'InOrder'}},
        stages=True,
        startup='InOrderStartupPolicyCompleted',
    ),
    Kind(
        name='restarts',
        parts={'a': 2, 'b': 2},
        spec={'failurePolicy': {'maxRestarts': 3}},
        attempts=({'a-1': FAIL, 'a-0': STAY, 'b-0': STAY, 'b-1': STAY}, {'b-0': FAIL, 'b-1': STAY}, {}),
        counted=2,
    ),
    Kind(
        name='blocking',
        parts={'a': 2, 'b': 1},
        spec={'failurePolicy': {'maxRestarts': 2, 'restartStrategy': 'BlockingRecreate'}},
        attempts=(
            {'a-0': FAIL, 'a-1': STAY, 'b-0': STAY},
            {'b-0': FAIL, 'a-0': STAY, 'a-1': STAY},
            {'a-1': FAIL, 'a-0': STAY, 'b-0': STAY},
        ),
        end='Failed',
        counted=2,
    ),
    Kind(name='pauses', parts={'a': 2, 'b': 1}, pauses=2),
    Kind(
        name='any',
        parts={'a': 2, 'b': 2},
        spec={'successPolicy': {'operator': 'Any', 'targetReplicatedJobs': ['a']}},
        attempts=({'a-1': COMPLETE, 'a-0': STAY, 'b-0': STAY, 'b-1': STAY},),
    ),
    Kind(
        name='all-of-some',
        parts={'main': 2, 'helper': 2},
        spec={'successPolicy': {'operator': 'All', 'targetReplicatedJobs': ['main']}},
        attempts=({'helper-0': STAY, 'helper-1': STAY},),
    ),
    Kind(
        name='claims',
        parts={'a': 2},
        spec={'volumeClaimPolicies': [_claim('gone', 'Delete'), _claim('kept', 'Retain')]},
        claims=('gone', 'kept'),
    ),
    Kind(
        name='refused',
        parts={'a': 3},
        spec={
            'failurePolicy': {
                'maxRestarts': 5,
                'rules': [_rule('FailJobSet', onJobFailureMessagePatterns=['exit code [0-9]+$'])],
            }
        },
        attempts=({'a-2': FAIL, 'a-0': STAY, 'a-1': STAY},),
        end='Refused',
    ),
    Kind(
        name='unlimited',
        parts={'a': 2},
        spec={
            'failurePolicy': {
                'maxRestarts': 0,
                'rules': [_rule('RestartJobSetAndIgnoreMaxRestarts', targetReplicatedJobs=['a'])],
            }
        },
        attempts=({'a-0': FAIL, 'a-1': STAY}, {'a-1': FAIL, 'a-0': STAY}, {}),
    ),
)
