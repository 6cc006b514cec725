"""Lines that a run shows: each piece of news once."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from jobset.api import keys, meta, types
from jobset.cli.progress import Line, Progress, Tone, stages
from jobset.client import observed
from jobset.client.families import Family

Object = dict[str, Any]

STAGES = [
    {'name': 'prep', 'template': {}},
    {'name': 'train', 'template': {}, 'replicas': 2, 'dependsOn': [{'name': 'prep', 'status': 'Complete'}]},
]


def family(*pods: observed.Pod, status: Object | None = None, **spec: object) -> Family:
    body = {'metadata': {'name': 'demo'}, 'spec': {'replicatedJobs': STAGES, **spec}, 'status': status or {}}
    return Family(jobset=msgspec.json.decode(msgspec.json.encode(body), type=types.JobSet), pods=pods)


def pod(stage: str, phase: str, *containers: Object, attempt: int = 0, **status: object) -> observed.Pod:
    labels = {
        keys.REPLICATED_JOB_NAME: stage,
        keys.JOB_INDEX: '0',
        keys.RESTART_ATTEMPT: str(attempt),
        observed.COMPLETION_INDEX: '1',
    }
    name = f'demo-{stage}-0-1-abcde'
    body = {
        'metadata': {'name': name, 'uid': f'{name}-{attempt}', 'labels': labels},
        'status': {'phase': phase, 'containerStatuses': list(containers), **status},
    }
    return msgspec.convert(body, observed.Pod)


def job(stage: str, *conditions: Object) -> observed.Job:
    labels = {keys.REPLICATED_JOB_NAME: stage, keys.JOB_INDEX: '0', keys.RESTART_ATTEMPT: '0'}
    metadata = {'name': f'demo-{stage}-0', 'uid': f'demo-{stage}-0', 'labels': labels}
    return msgspec.convert({'metadata': metadata, 'status': {'conditions': list(conditions)}}, observed.Job)


def ended(code: int, reason: str = 'Error', message: str = '', restarts: int = 0) -> Object:
    state = {'terminated': {'exitCode': code, 'reason': reason, 'message': message}}
    return {'name': 'main', 'state': state, 'restartCount': restarts}


def condition(kind: str, reason: str, message: str) -> Object:
    return {'type': kind, 'status': 'True', 'reason': reason, 'message': message, 'lastTransitionTime': ''}


def counts(**succeeded: int) -> Object:
    others = {'ready': 0, 'failed': 0, 'active': 0, 'suspended': 0}
    return {'replicatedJobsStatus': [{'name': name, 'succeeded': count, **others} for name, count in succeeded.items()]}


def told(*states: Family) -> Sequence[Sequence[Line]]:
    seen = Progress()
    return [list(seen.look(state, at=0)) for state in states]


def test_a_stage_is_told_when_it_changes_and_only_then() -> None:
    none = counts(prep=0, train=0)
    assert told(
        family(status=none),
        family(status=none),
        family(pod('prep', 'Pending'), status=none),
        family(pod('prep', 'Running'), status=none),
        family(pod('prep', 'Running'), status=none),
        family(pod('prep', 'Succeeded'), status=counts(prep=1, train=0)),
    ) == [
        [Line('prep', 'waits for its pods'), Line('train', 'waits for prep (Complete)')],
        [],
        [Line('prep', '1 pod: 1 starting')],
        [Line('prep', '1 pod: 1 running')],
        [],
        [Line('prep', 'complete')],
    ]


def test_pods_of_an_earlier_attempt_do_not_count() -> None:
    seen = family(pod('train', 'Failed'), pod('train', 'Running', attempt=1), status={'restarts': 1})

    assert stages(seen) == {'prep': 'waits for its pods', 'train': '1 pod: 1 running'}


def test_the_end_is_told_with_its_reason() -> None:
    status = {'terminalState': 'Failed', 'conditions': [condition('Failed', 'FailedJobs', 'jobset failed')]}
    _, last = told(family(status=counts(prep=0, train=0)), family(status=status | counts(prep=0, train=0)))

    assert last == [Line('demo', 'Failed: FailedJobs: jobset failed', Tone.BAD)]


def test_a_suspended_jobset_says_so() -> None:
    assert stages(family(suspend=True)) == {'prep': 'suspended', 'train': 'suspended'}


@pytest.mark.parametrize(
    ('end', 'text'),
    [
        pytest.param(ended(3), 'exit code 3', id='plain'),
        pytest.param(
            ended(127, 'ContainerCannotRun', 'no program "nope" on PATH'),
            'exit code 127 (ContainerCannotRun): no program "nope" on PATH',
            id='with a reason',
        ),
    ],
)
def test_a_bad_end_of_a_container_is_told_once(end: Object, text: str) -> None:
    seen = Progress()
    state = family(pod('prep', 'Failed', end))

    first, *_ = seen.look(state, at=0)

    assert first == Line('prep-0-1', text, Tone.BAD)
    assert list(seen.look(state, at=0)) == []
    assert [str(each) for each in seen.failures] == [text]


def test_what_has_ended_and_gone_between_two_looks_is_told_in_its_order() -> None:
    seen = Progress()
    before, after = family(pod('prep', 'Running')), family(pod('prep', 'Running', ended(5), attempt=1))
    late = condition('Failed', 'DeadlineExceeded', 'too late') | {'lastTransitionTime': '2026-01-01T00:00:00Z'}

    assert not [line for line in seen.look(before, at=0) if line.tone is Tone.BAD]
    seen.see_pod(pod('prep', 'Failed', ended(4)))
    seen.see_job(job('prep', late))
    lines = [line for line in seen.look(after, at=0) if line.tone is Tone.BAD]

    assert lines == [
        Line('prep-0-1', 'exit code 4', Tone.BAD),
        Line('prep-0', 'DeadlineExceeded: too late', Tone.BAD),
        Line('prep-0-1', 'exit code 5', Tone.BAD),
    ]
    assert [failure.attempt for failure in seen.failures] == [0, 0, 1]


def test_each_restart_of_a_container_is_told_once() -> None:
    again = {'name': 'main', 'restartCount': 1, 'state': {'running': {}}, 'lastState': ended(1)['state']}
    lines = told(
        family(pod('prep', 'Running', ended(1))),
        family(pod('prep', 'Running', again)),
        family(pod('prep', 'Running', ended(1, restarts=1))),
    )

    bad = Line('prep-0-1', 'exit code 1', Tone.BAD)
    assert [[line for line in each if line.tone is Tone.BAD] for each in lines] == [[bad], [], [bad]]


def test_what_is_waited_for_is_told_when_it_lasts_and_once() -> None:
    held = {'type': 'PodScheduled', 'status': 'False', 'reason': 'Unschedulable', 'message': '0/1 nodes: no cpu'}
    state = family(pod('prep', 'Pending', conditions=[held]), status=counts(prep=0, train=0))
    seen = Progress()

    lines = [[line for line in seen.look(state, at=at) if line.subject == 'prep-0-1'] for at in (0, 1, 2, 3)]

    assert lines == [[], [], [Line('prep-0-1', 'cannot be scheduled: 0/1 nodes: no cpu', Tone.NOTE)], []]


def test_output_that_is_lost_is_told_once() -> None:
    one = pod('prep', 'Running')
    note = 'Container main: its output is not kept: No space left on device'
    regarding = observed.Regarding(kind='Pod', name=one.metadata.name, uid=one.metadata.uid)
    event = observed.Event(
        metadata=meta.ObjectMeta(name='e', uid='e'), reason='OutputLost', note=note, regarding=regarding
    )
    state = dataclasses.replace(family(one), events=[event])
    seen = Progress()

    lines = [[line for line in seen.look(state, at=0) if line.tone is Tone.BAD] for _ in range(2)]

    assert lines == [[Line('prep-0-1', note, Tone.BAD)], []]
