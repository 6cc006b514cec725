"""What a node does next about a pod, and what its status says, without any process."""

import datetime
from dataclasses import replace
from typing import Any

import pytest

from jobset.local.node import backoffs, decisions, phases, probing, restarts
from jobset.local.node.decisions import End, Finish, Prepare, Reset, Restart, Start, Stop
from jobset.local.node.model import Container, Delay, Ended, Ending, Facts, Step
from tests.local.node.plane import Json

NOW = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)


def later(seconds: float) -> datetime.datetime:
    return NOW + datetime.timedelta(seconds=seconds)


def one(name: str, **more: Any) -> Json:
    return {'name': name, **more}


def spec(*mains: Json, inits: tuple[Json, ...] = (), policy: str = 'Never', **more: Any) -> Json:
    return {'containers': list(mains), 'initContainers': list(inits), 'restartPolicy': policy, **more}


def new(name: str) -> Container:
    return Container(name=name)


def up(name: str, **more: Any) -> Container:
    return Container(name=name, step=Step.RUNNING, **{'is_started': True, **more})


def end(name: str, code: int = 0, *, at: float = 0, **more: Any) -> Container:
    ended = Ended(exit_code=code, reason='Error' if code else 'Completed', finished_at=later(at))
    return Container(name=name, step=Step.ENDED, ended=ended, **more)


def facts(*containers: Container, **more: Any) -> Facts:
    held = {container.name: container for container in containers}
    return Facts(**{'containers': held, 'seen_at': NOW, 'is_prepared': True, **more})


ALL = {'action': 'RestartAllContainers', 'exitCodes': {'operator': 'NotIn', 'values': [0]}}
SIDE = one('side', restartPolicy='Always')
TWO = spec(one('a'), one('b'))


@pytest.mark.parametrize(
    ('of', 'seen', 'actions'),
    [
        pytest.param(TWO, facts(new('a'), new('b'), is_prepared=False), [Prepare()], id='first what all need'),
        pytest.param(TWO, facts(new('a'), new('b')), [Start('a'), Start('b')], id='all start together'),
        pytest.param(TWO, facts(up('a'), new('b')), [Start('b')], id='what runs is left alone'),
        pytest.param(TWO, facts(end('a'), up('b')), [], id='one has ended'),
        pytest.param(TWO, facts(end('a'), end('b', 3)), [Finish()], id='all have ended'),
        pytest.param(
            spec(one('m'), inits=(one('i'), one('j'))),
            facts(new('i'), new('j'), new('m')),
            [Start('i')],
            id='the first init container',
        ),
        pytest.param(spec(one('m'), inits=(one('i'), one('j'))), facts(up('i'), new('j'), new('m')), [], id='it runs'),
        pytest.param(
            spec(one('m'), inits=(one('i'), one('j'))), facts(end('i'), new('j'), new('m')), [Start('j')], id='the next'
        ),
        pytest.param(
            spec(one('m'), inits=(one('i'), one('j'))), facts(end('i'), end('j'), new('m')), [Start('m')], id='all done'
        ),
        pytest.param(
            spec(one('m'), inits=(one('i'), one('j'))),
            facts(end('i', 1), new('j'), new('m')),
            [Finish()],
            id='a failed init container fails the pod',
        ),
        pytest.param(
            spec(one('m'), inits=(one('i'),), policy='OnFailure'),
            facts(end('i', 1), new('m')),
            [Start('i')],
            id='a failed init container comes again',
        ),
        pytest.param(
            spec(one('m'), inits=(one('i'),), policy='Always'),
            facts(end('i'), new('m')),
            [Start('m')],
            id='a good init container does not come again',
        ),
        pytest.param(
            spec(one('m'), inits=(SIDE,)), facts(up('side', is_started=False), new('m')), [], id='waits for a sidecar'
        ),
        pytest.param(spec(one('m'), inits=(SIDE,)), facts(up('side'), new('m')), [Start('m')], id='a sidecar is up'),
        pytest.param(
            spec(one('m'), inits=(SIDE, one('j'))),
            facts(end('side', 1), up('j'), new('m')),
            [Start('side')],
            id='a sidecar comes again while another init container runs',
        ),
        pytest.param(
            spec(one('m'), inits=(SIDE,)),
            facts(end('side'), up('m')),
            [Start('side')],
            id='a sidecar always comes again',
        ),
        pytest.param(
            spec(one('m'), inits=(SIDE,)),
            facts(up('side'), end('m')),
            [Stop(name='side', grace=30, why='')],
            id='sidecars end after the others',
        ),
        pytest.param(
            spec(one('m'), inits=(SIDE,)), facts(end('side', 1), end('m')), [Finish()], id='they do not come again then'
        ),
        pytest.param(
            spec(one('m'), inits=(SIDE, one('late', restartPolicy='Always'))),
            facts(up('side'), up('late'), end('m')),
            [Stop(name='late', grace=30, why='')],
            id='the last sidecar ends first',
        ),
        pytest.param(
            spec(one('m'), policy='Always', terminationGracePeriodSeconds=5),
            facts(up('m', failing='Container m failed liveness probe')),
            [Stop(name='m', grace=5, why='Container m failed liveness probe')],
            id='what its probe condemns ends',
        ),
        pytest.param(
            spec(one('m', restartPolicyRules=[ALL]), one('n')),
            facts(end('m', 1), up('n')),
            [Restart()],
            id='a rule restarts all',
        ),
        pytest.param(
            spec(one('m', restartPolicyRules=[ALL]), one('n')),
            facts(end('m', 1), up('n'), is_restarting=True),
            [Stop(name='n', grace=0, why='RestartAllContainers', hook=False)],
            id='then the others end without grace',
        ),
        pytest.param(
            spec(one('m', restartPolicyRules=[ALL]), one('n')),
            facts(end('m', 1), end('n', 137), is_restarting=True),
            [Reset()],
            id='and all begin anew',
        ),
        pytest.param(
            spec(one('m'), inits=(one('side', restartPolicy='Always', restartPolicyRules=[ALL]),)),
            facts(end('side', 143), end('m')),
            [Finish()],
            id='but not when the pod was done',
        ),
        pytest.param(
            spec(one('m'), inits=(one('side', restartPolicy='Always', restartPolicyRules=[ALL]),)),
            facts(end('side', 1), up('m')),
            [Restart()],
            id='a rule of a sidecar restarts all',
        ),
        pytest.param(
            spec(one('m'), activeDeadlineSeconds=0),
            facts(up('m')),
            [
                End(
                    Ending(
                        until=later(30),
                        reason='DeadlineExceeded',
                        message='Pod was active on the node longer than the specified deadline',
                    )
                )
            ],
            id='the deadline',
        ),
        pytest.param(
            spec(one('m'), inits=(SIDE,)),
            facts(up('side'), up('m'), ending=Ending(until=later(7))),
            [Stop(name='m', grace=7, why='')],
            id='the end of a pod begins with those that are no sidecars',
        ),
        pytest.param(
            spec(one('m'), inits=(SIDE,)),
            facts(up('side'), end('m'), ending=Ending(until=later(-1))),
            [Stop(name='side', grace=2, why='')],
            id='sidecars get some time even when it is over',
        ),
        pytest.param(
            spec(one('m'), inits=(SIDE,)),
            facts(up('side'), end('m'), ending=Ending(until=later(-1), is_forced=True)),
            [Stop(name='side', grace=0, why='')],
            id='unless the pod is gone',
        ),
        pytest.param(
            spec(one('m')), facts(new('m'), ending=Ending(until=later(7))), [Finish()], id='nothing was started at all'
        ),
    ],
)
def test_decisions(of: Json, seen: Facts, actions: list[decisions.Action]) -> None:
    assert decisions.decide(of, seen, NOW).actions == actions


def test_a_crash_waits() -> None:
    held = end('m', 1, at=-3, delay=Delay(seconds=10, since=later(-20)))

    decision = decisions.decide(spec(one('m'), policy='Always'), facts(held), NOW)

    assert decision == decisions.Decision([], later(7), ['m'])


def test_a_deadline_is_looked_at() -> None:
    assert decisions.decide(spec(one('m'), activeDeadlineSeconds=9), facts(up('m')), NOW).look_at == later(9)


@pytest.mark.parametrize(
    ('container', 'policy', 'code', 'verdict'),
    [
        ({}, 'Always', 0, 'RESTART'),
        ({}, 'OnFailure', 0, 'STAY'),
        ({}, 'OnFailure', 1, 'RESTART'),
        ({}, 'Never', 1, 'STAY'),
        ({'restartPolicy': 'Always'}, 'Never', 0, 'RESTART'),
        ({'restartPolicy': 'Never', 'restartPolicyRules': [ALL]}, 'Never', 1, 'RESTART_ALL'),
        ({'restartPolicy': 'Never', 'restartPolicyRules': [ALL]}, 'Never', 0, 'STAY'),
        (
            {
                'restartPolicy': 'Never',
                'restartPolicyRules': [{'action': 'Restart', 'exitCodes': {'operator': 'In', 'values': [1]}}, ALL],
            },
            'Never',
            1,
            'RESTART',
        ),
    ],
)
def test_restart_rules(container: Json, policy: str, code: int, verdict: str) -> None:
    assert restarts.judge(container, {'restartPolicy': policy}, code) is restarts.Verdict[verdict]


def test_delays_double_up_to_a_cap_and_begin_anew() -> None:
    delay, at, seen = Delay(), NOW, []
    for _ in range(7):
        delay = backoffs.after_start(delay, at, base=10, cap=300)
        seen.append(delay.seconds)
        at = backoffs.resume_at(delay, at, cap=300)

    assert seen == [10, 20, 40, 80, 160, 300, 300]
    healthy = at + datetime.timedelta(seconds=601)
    assert backoffs.resume_at(delay, healthy, cap=300) == healthy
    assert backoffs.after_start(delay, healthy, base=10, cap=300).seconds == 10


@pytest.mark.parametrize(('seconds', 'text'), [(10, '10s'), (80, '1m20s'), (300, '5m0s'), (0.05, '50ms')])
def test_durations(seconds: float, text: str) -> None:
    assert backoffs.text(seconds) == text


@pytest.mark.parametrize(
    ('of', 'seen', 'is_over', 'phase'),
    [
        pytest.param(TWO, facts(new('a'), new('b')), False, 'Pending', id='nothing yet'),
        pytest.param(TWO, facts(up('a'), new('b')), False, 'Pending', id='not all yet'),
        pytest.param(TWO, facts(up('a'), up('b')), False, 'Running', id='all run'),
        pytest.param(TWO, facts(up('a'), end('b', 1)), False, 'Running', id='one has failed'),
        pytest.param(TWO, facts(end('a'), end('b', 1)), False, 'Failed', id='a failure'),
        pytest.param(TWO, facts(end('a'), end('b')), False, 'Succeeded', id='no failure'),
        pytest.param(spec(one('m'), policy='Always'), facts(end('m')), False, 'Running', id='it comes again'),
        pytest.param(spec(one('m'), policy='Always'), facts(end('m')), True, 'Succeeded', id='or never again'),
        pytest.param(spec(one('m'), inits=(one('i'),)), facts(up('i'), new('m')), False, 'Pending', id='initializing'),
        pytest.param(
            spec(one('m'), inits=(one('i'),)), facts(end('i', 1), new('m')), False, 'Failed', id='failed to initialize'
        ),
        pytest.param(
            spec(one('m'), inits=(SIDE,)), facts(up('side'), end('m')), False, 'Running', id='a sidecar is up'
        ),
        pytest.param(
            spec(one('m'), inits=(SIDE,)),
            facts(end('side', 143), end('m')),
            False,
            'Succeeded',
            id='sidecars do not count',
        ),
        pytest.param(TWO, facts(new('a'), new('b')), True, 'Failed', id='ended before it began'),
    ],
)
def test_phases(of: Json, seen: Facts, is_over: bool, phase: str) -> None:
    assert phases.phase(of, seen, is_over=is_over) == phase


@pytest.mark.parametrize(
    ('use', 'answers', 'verdicts'),
    [
        pytest.param(probing.Use.LIVENESS, 'bbbgb', [True, True, False, True, True], id='alive until three are bad'),
        pytest.param(probing.Use.READINESS, 'gbbb', [True, True, True, False], id='ready at the first good one'),
        pytest.param(probing.Use.STARTUP, 'bbg', [None, None, True], id='started'),
        pytest.param(
            probing.Use.LIVENESS, 'bbgbb', [True, True, True, True, True], id='a good one counts from the start'
        ),
    ],
)
def test_probes(use: probing.Use, answers: str, verdicts: list[bool | None]) -> None:
    timing, state, seen = probing.timing({}), probing.first(use), []
    for answer in answers:
        state = probing.after(state, is_good=answer == 'g', timing=timing)
        seen.append(state.verdict)

    assert seen == verdicts


def test_a_stopping_container_is_not_stopped_again() -> None:
    seen = facts(replace(up('m'), is_stopping=True), ending=Ending(until=later(5)))

    assert decisions.decide(spec(one('m')), seen, NOW).actions == []
