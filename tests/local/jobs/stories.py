"""Jobs and what happens to them: played before the real Job controller (:mod:`record`), and before ours.

Where upstream waits before it makes a pod again (10 s after the first failure, 20 s after the second), a story that
wants to see the pod waits for longer than that, and one that does not, for much less.
"""

from dataclasses import dataclass, field
from typing import Any, Final

from tests.local.jobs.narration import Object
from tests.local.jobs.steps import Step, bind, change, delete, fail, gone, kill, relabel, run, succeed, wait


@dataclass(frozen=True)
class Story:
    """One Job."""

    name: str
    spec: Object
    steps: tuple[Step, ...]
    template: Object = field(default_factory=dict)
    """Additions to the pod template."""

    containers: tuple[Object, ...] = ({'name': 'main', 'image': 'busybox'},)
    shows_bodies: bool = False
    """Whether the pods as they were made are compared, too."""

    before: Object | None = None
    """A pod that is there before the Job."""

    def job(self, namespace: str) -> Object:
        """The Job as its owner would write it."""
        template = dict(self.template)
        spec = {'restartPolicy': 'Never', 'containers': list(self.containers)} | template.pop('spec', {})
        return {
            'apiVersion': 'batch/v1',
            'kind': 'Job',
            'metadata': {'name': self.name, 'namespace': namespace},
            'spec': self.spec | {'template': template | {'spec': spec}},
        }


def _indexed(count: int, parallelism: int | None = None, **spec: Any) -> Object:
    parallelism = count if parallelism is None else parallelism
    return {'completionMode': 'Indexed', 'completions': count, 'parallelism': parallelism} | spec


def _plain(completions: int | None, parallelism: int, **spec: Any) -> Object:
    return ({} if completions is None else {'completions': completions}) | {'parallelism': parallelism} | spec


def _exit_codes(action: str, *codes: int, operator: str = 'In', container: str | None = None) -> Object:
    wanted: Object = {'operator': operator, 'values': list(codes)}
    return {'action': action, 'onExitCodes': wanted | ({'containerName': container} if container else {})}


def _conditions(action: str, *types: str) -> Object:
    return {'action': action, 'onPodConditions': [{'type': each, 'status': 'True'} for each in types]}


def _rules(*rules: Object) -> Object:
    return {'podFailurePolicy': {'rules': list(rules)}}


_AGAIN: Final = wait(12)
"""Long enough for the first replacement of a failed pod."""

_TWO: Final = ({'name': 'main', 'image': 'busybox'}, {'name': 'side', 'image': 'busybox'})

STORIES: Final = (
    # Counting and completion.
    Story('one-pod', _plain(1, 1), (run('p0', ready=False), run('p0'), succeed('p0')), shows_bodies=True),
    Story('three-in-turns', _plain(3, 2), (run('p0', 'p1'), succeed('p0'), succeed('p1', 'p2'))),
    Story('nothing-to-do', _plain(0, 1), ()),
    Story('work-queue', _plain(None, 3), (run('p0', 'p1', 'p2'), succeed('p1'), succeed('p0', 'p2'))),
    Story('work-queue-fails-late', _plain(None, 2), (run('p0', 'p1'), succeed('p0'), fail('p1'))),
    Story('work-queue-fails-early', _plain(None, 2), (run('p0', 'p1'), fail('p1'), _AGAIN, succeed('p0', 'p2'))),
    Story('no-parallelism', _plain(2, 0), (change(parallelism=2), change(parallelism=0))),
    Story(
        'indexed',
        _indexed(6, 4),
        (run('i0.0', 'i1.0'), succeed('i1.0'), succeed('i0.0', 'i2.0', 'i4.0'), succeed('i5.0'), succeed('i3.0')),
        shows_bodies=True,
    ),
    Story('indexed-gaps', _indexed(8), (succeed('i0.0', 'i2.0', 'i3.0', 'i4.0', 'i6.0', 'i7.0'), succeed('i1.0'))),
    Story(
        'template-kept',
        _indexed(1),
        (),
        template={
            'metadata': {'labels': {'mine': 'a'}, 'annotations': {'note': 'b'}, 'finalizers': ['example.com/keep']},
            'spec': {
                'hostname': 'given',
                'subdomain': 'given',
                'initContainers': [{'name': 'before', 'image': 'busybox', 'env': [{'name': 'FIRST', 'value': '1'}]}],
            },
        },
        containers=({'name': 'main', 'image': 'busybox', 'env': [{'name': 'JOB_COMPLETION_INDEX', 'value': 'mine'}]},),
        shows_bodies=True,
    ),
    Story('a-name-of-60-characters-which-leaves-little-for-an-index-xyz', _indexed(1), (), shows_bodies=True),
    # Failures and the back-off limit.
    Story('fails-at-once', _plain(1, 1, backoffLimit=0), (fail('p0', codes=(3,)),)),
    Story('fails-again', _plain(1, 1, backoffLimit=1), (fail('p0'), _AGAIN, fail('p1'))),
    Story('waits-longer', _plain(1, 1), (fail('p0'), _AGAIN, fail('p1'), wait(8), wait(16), succeed('p2'))),
    Story('success-ends-waiting', _plain(3, 2), (fail('p0'), succeed('p1'), wait(1), succeed('p2', 'p3'))),
    Story('killed-pod', _plain(1, 1), (kill('p0'), _AGAIN, succeed('p1'))),
    Story('killed-bound-pod', _plain(1, 1), (bind('p0'), run('p0'), kill('p0'), _AGAIN, gone('p0', codes=(137,)))),
    Story(
        'failure-ends-others',
        _indexed(3, backoffLimit=0),
        (bind('i0.0', 'i1.0', 'i2.0'), run('i0.0', 'i1.0'), fail('i1.0'), gone('i0.0', codes=(1,)), gone('i2.0')),
    ),
    Story(
        'failure-ends-unbound-others',
        _indexed(3, backoffLimit=0),
        (run('i0.0', 'i2.0'), succeed('i0.0'), fail('i1.0')),
    ),
    Story('two-fail-together', _plain(4, 4, backoffLimit=1), (run('p0', 'p1', 'p2', 'p3'), fail('p0', 'p1'))),
    Story(
        'restarts-in-place',
        _plain(2, 2, backoffLimit=3),
        (run('p0', 'p1'), run('p0', restarts=2), run('p1', restarts=1)),
        template={'spec': {'restartPolicy': 'OnFailure'}},
    ),
    Story(
        'no-restart-in-place',
        _plain(1, 1, backoffLimit=0),
        (run('p0'), run('p0', restarts=1)),
        template={'spec': {'restartPolicy': 'OnFailure'}},
    ),
    # The limit for each index.
    Story(
        'index-fails',
        _indexed(2, backoffLimitPerIndex=1),
        (run('i0.0', 'i1.0'), fail('i0.0'), _AGAIN, fail('i0.1'), succeed('i1.0')),
    ),
    Story(
        'too-many-indexes-fail',
        _indexed(5, 4, backoffLimitPerIndex=0, maxFailedIndexes=1),
        (run('i0.0', 'i1.0', 'i2.0', 'i3.0'), succeed('i2.0'), fail('i0.0'), fail('i3.0')),
    ),
    Story(
        'index-recovers', _indexed(2, backoffLimitPerIndex=2), (fail('i1.0'), succeed('i0.0'), _AGAIN, succeed('i1.1'))
    ),
    Story('all-indexes-fail', _indexed(3, backoffLimitPerIndex=0), (fail('i0.0', 'i1.0'), fail('i2.0'))),
    Story(
        'index-killed',
        _indexed(2, backoffLimitPerIndex=1),
        (bind('i0.0'), run('i0.0'), kill('i0.0'), _AGAIN, gone('i0.0', codes=(143,))),
    ),
    # Rules about pod failures.
    Story(
        'rule-fails-job',
        _indexed(3, **_rules(_exit_codes('FailJob', 42, 43))),
        (bind('i0.0'), run('i0.0', 'i1.0', 'i2.0'), fail('i2.0', codes=(42,)), gone('i0.0', codes=(0,))),
    ),
    Story(
        'rule-beats-limit', _plain(1, 1, backoffLimit=0, **_rules(_exit_codes('FailJob', 7))), (fail('p0', codes=(7,)),)
    ),
    Story(
        'rule-ignores',
        _plain(1, 1, backoffLimit=0, **_rules(_conditions('Ignore', 'DisruptionTarget'))),
        (run('p0'), fail('p0', condition='DisruptionTarget'), _AGAIN, fail('p1')),
    ),
    Story(
        'rule-counts',
        _plain(1, 1, backoffLimit=0, **_rules(_exit_codes('Count', 1), _exit_codes('Ignore', 0, operator='NotIn'))),
        (fail('p0', codes=(2,)), _AGAIN, fail('p1', codes=(1,))),
    ),
    Story(
        'rule-fails-index',
        _indexed(3, backoffLimitPerIndex=3, **_rules(_exit_codes('FailIndex', 5))),
        (fail('i1.0', codes=(5,)), succeed('i0.0', 'i2.0')),
    ),
    Story(
        'rule-ignores-in-index',
        _indexed(2, backoffLimitPerIndex=0, **_rules(_conditions('Ignore', 'DisruptionTarget'))),
        (fail('i0.0', condition='DisruptionTarget'), _AGAIN, fail('i0.1'), succeed('i1.0')),
    ),
    Story(
        'rule-for-container',
        _plain(2, 2, backoffLimit=5, **_rules(_exit_codes('FailJob', 9, container='side'))),
        (fail('p0', codes=(9, 0)), fail('p1', codes=(0, 9))),
        containers=_TWO,
    ),
    Story(
        'rule-on-condition',
        _plain(1, 1, **_rules(_conditions('FailJob', 'ConfigIssue'))),
        (fail('p0', condition='ConfigIssue'),),
    ),
    Story(
        'rule-waits-for-phase',
        _plain(1, 1, backoffLimit=0, **_rules(_conditions('Ignore', 'DisruptionTarget'))),
        (bind('p0'), run('p0'), kill('p0'), gone('p0', codes=(143,))),
    ),
    # Success before all is done.
    Story(
        'leader-succeeds',
        _indexed(3, successPolicy={'rules': [{'succeededIndexes': '0'}]}),
        (bind('i1.0'), run('i0.0', 'i1.0', 'i2.0'), succeed('i0.0'), gone('i1.0', codes=(143,))),
    ),
    Story(
        'enough-succeed',
        _indexed(4, successPolicy={'rules': [{'succeededIndexes': '3'}, {'succeededCount': 2}]}),
        (succeed('i1.0'), succeed('i2.0')),
    ),
    Story(
        'enough-of-some-succeed',
        _indexed(5, successPolicy={'rules': [{'succeededIndexes': '1-3', 'succeededCount': 2}]}),
        (succeed('i0.0', 'i1.0'), succeed('i3.0')),
    ),
    Story(
        'success-after-failed-index',
        _indexed(3, backoffLimitPerIndex=0, successPolicy={'rules': [{'succeededIndexes': '2'}]}),
        (fail('i0.0'), succeed('i2.0')),
    ),
    Story(
        'all-succeed-by-rule', _indexed(2, successPolicy={'rules': [{'succeededCount': 2}]}), (succeed('i0.0', 'i1.0'),)
    ),
    # Suspension.
    Story(
        'suspended-from-start',
        _plain(2, 2, suspend=True),
        (wait(2), change(suspend=False), run('p0'), succeed('p0', 'p1')),
    ),
    Story(
        'suspended-while-running',
        _indexed(2),
        (
            bind('i0.0'),
            run('i0.0', 'i1.0'),
            change(suspend=True),
            gone('i0.0', codes=(143,)),
            change(suspend=False),
            succeed('i0.1', 'i1.1'),
        ),
    ),
    Story('suspended-after-success', _indexed(2), (succeed('i0.0'), change(suspend=True), change(suspend=False))),
    Story('suspended-when-complete', _plain(1, 1), (succeed('p0'), change(suspend=True))),
    Story('suspended-after-failure', _plain(1, 1), (fail('p0'), change(suspend=True), change(suspend=False), _AGAIN)),
    Story(
        'resumed-with-terminating',
        _plain(1, 1),
        (bind('p0'), run('p0'), change(suspend=True), change(suspend=False), gone('p0', codes=(143,))),
    ),
    # Deadlines.
    Story('deadline', _plain(1, 1, activeDeadlineSeconds=30), (run('p0'), wait(8), wait(16))),
    Story(
        'deadline-with-bound',
        _indexed(2, activeDeadlineSeconds=25),
        (bind('i0.0'), run('i0.0'), wait(4), wait(12), gone('i0.0', codes=(143,))),
    ),
    Story(
        'deadline-counts-anew',
        _plain(1, 1, activeDeadlineSeconds=14),
        (change(suspend=True), wait(14), change(suspend=False), wait(2), wait(12)),
    ),
    Story('deadline-while-suspended', _plain(1, 1, activeDeadlineSeconds=2, suspend=True), (wait(4),)),
    # Replacement of pods.
    Story(
        'replaced-when-failed',
        _indexed(2, podReplacementPolicy='Failed'),
        (bind('i0.0'), run('i0.0', 'i1.0'), kill('i0.0'), wait(12), gone('i0.0', codes=(143,)), _AGAIN),
    ),
    Story('replaced-when-gone', _plain(1, 1, podReplacementPolicy='Failed'), (kill('p0'), _AGAIN)),
    Story(
        'success-while-terminating',
        _plain(1, 1),
        (bind('p0'), run('p0'), kill('p0'), gone('p0', codes=(0,)), _AGAIN),
    ),
    Story(
        'success-while-terminating-awaited',
        _plain(1, 1, podReplacementPolicy='Failed'),
        (bind('p0'), run('p0'), kill('p0'), gone('p0', codes=(0,))),
    ),
    # Other sizes.
    Story(
        'elastic',
        _indexed(3),
        (
            run('i0.0'),
            succeed('i2.0'),
            change(completions=2, parallelism=2),
            change(completions=4, parallelism=4),
            succeed('i0.0', 'i1.0'),
        ),
    ),
    Story(
        'fewer-at-once',
        _plain(5, 4),
        (
            run('p0'),
            run('p1'),
            run('p2', ready=False),
            change(parallelism=2),
            change(parallelism=1),
            change(parallelism=3),
        ),
    ),
    Story('fewer-indexes-at-once', _indexed(4), (run('i1.0', 'i3.0'), change(parallelism=2), change(parallelism=3))),
    # Whose pods.
    Story('managed-by-another', _plain(1, 1, managedBy='example.com/other'), (change(suspend=True),)),
    Story('managed-by-us', _plain(1, 1, managedBy='kubernetes.io/job-controller'), (succeed('p0'),)),
    Story(
        'adopts',
        _plain(2, 2, manualSelector=True, selector={'matchLabels': {'story': 'adopts'}}),
        (succeed('p0', 'p1'),),
        template={'metadata': {'labels': {'story': 'adopts'}}},
        before={
            'apiVersion': 'v1',
            'kind': 'Pod',
            'metadata': {'name': 'adopted', 'labels': {'story': 'adopts'}},
            'spec': {'restartPolicy': 'Never', 'containers': [{'name': 'main', 'image': 'busybox'}]},
        },
    ),
    Story(
        'lets-go',
        _plain(1, 1, manualSelector=True, selector={'matchLabels': {'story': 'lets-go'}}),
        (run('p0'), relabel('p0', story='other'), relabel('p0', story='lets-go')),
        template={'metadata': {'labels': {'story': 'lets-go'}}},
    ),
    # The end of the Job itself.
    Story('deleted', _indexed(2), (bind('i0.0'), run('i0.0'), delete('Background'), gone('i0.0'))),
    Story(
        'deleted-foreground', _indexed(2), (bind('i0.0'), run('i0.0'), delete('Foreground'), gone('i0.0', codes=(1,)))
    ),
    Story('deleted-alone', _indexed(2), (run('i0.0'), delete('Orphan'))),
)
