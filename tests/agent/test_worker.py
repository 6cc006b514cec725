"""The agent as the process that runs the worker: shells, signals, and what the container ends with."""

import signal

import pytest

from tests.agent.pods import JOBSET, Pods, jobset, pod
from tests.agent.server import Server

AT_ONCE = jobset(strategy=None)


@pytest.fixture(autouse=True)
def one_pod(plane: Server) -> None:
    plane.put('pods', 'pod-0', pod())


def test_starts_the_worker_when_its_number_runs(plane: Server, agents: Pods) -> None:
    plane.put('jobsets', JOBSET, jobset())
    agent = agents.start(environment={'WORKER_COMMAND': 'echo worker of $POD_NAME; exit 7'})
    plane.until(lambda: plane.annotation('pod-0') == '0', 'an announcement')
    assert not any('worker of' in line for line in agent.lines)

    plane.status(JOBSET, currentInPlaceRestartAttempt=0)

    assert agent.ended() == 7
    assert agent.lines == [
        'jobset-agent: attempt 0 is announced',
        'jobset-agent: attempt 0 runs: the barrier is down',
        'worker of pod-0',
        'jobset-agent: the worker has ended with 7; exit code 7',
    ]


@pytest.mark.parametrize(
    ('command', 'code'),
    [
        pytest.param('true', 0, id='success'),
        pytest.param('exit 3', 3, id='an exit code'),
        pytest.param('kill -KILL $$', 137, id='killed'),
        pytest.param('no-such-program', 127, id='unknown to the shell'),
    ],
)
def test_ends_as_the_worker_does(plane: Server, agents: Pods, command: str, code: int) -> None:
    plane.put('jobsets', JOBSET, AT_ONCE)

    assert agents.start(environment={'WORKER_COMMAND': command}).ended() == code


@pytest.mark.parametrize(
    ('environment', 'said'),
    [
        pytest.param({'SHELL': '/bin/sh'}, 'shell: /bin/sh', id='the shell of the image'),
        pytest.param({'SHELL': '/bin/bash'}, 'shell: /bin/bash', id='which may be another'),
        pytest.param({'SHELL': None, 'PATH': '/nowhere:/bin'}, 'shell: /bin/bash', id='bash from the path'),
        pytest.param({'SHELL': '', 'PATH': '/nowhere'}, 'shell: /bin/sh', id='no bash either'),
    ],
)
def test_shell(plane: Server, agents: Pods, environment: dict[str, str | None], said: str) -> None:
    plane.put('jobsets', JOBSET, AT_ONCE)

    agent = agents.start(environment={'WORKER_COMMAND': 'echo "shell: $0"', **environment})

    assert agent.ended() == 0
    assert said in agent.lines


def test_a_shell_that_is_not_there(plane: Server, agents: Pods) -> None:
    plane.put('jobsets', JOBSET, AT_ONCE)

    agent = agents.start(environment={'WORKER_COMMAND': 'true', 'SHELL': '/nowhere/sh'})

    assert agent.ended() == 1
    assert 'jobset-agent: /nowhere/sh: No such file or directory' in agent.lines


def test_a_command_in_the_arguments_needs_no_shell(plane: Server, agents: Pods) -> None:
    plane.put('jobsets', JOBSET, AT_ONCE)

    agent = agents.start('pod-0', '--', 'printf', '%s|', 'two words', '$HOME', '--', environment={'SHELL': '/nowhere'})

    assert agent.ended() == 0
    assert any(line.startswith('two words|$HOME|--|') for line in agent.lines)


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGINT])
def test_a_signal_before_the_worker_has_started(plane: Server, agents: Pods, number: signal.Signals) -> None:
    plane.put('jobsets', JOBSET, jobset())
    agent = agents.start(environment={'WORKER_COMMAND': 'echo working'})
    plane.until(lambda: plane.annotation('pod-0') == '0', 'an announcement')

    agent.signal(number)

    assert agent.ended() == 128 + number
    assert 'working' not in agent.lines


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGINT])
def test_a_signal_beside_the_worker(plane: Server, agents: Pods, number: signal.Signals) -> None:
    plane.put('jobsets', JOBSET, AT_ONCE)
    agent = agents.start()
    agent.until_line('barrier is down')

    agent.signal(number)

    assert agent.ended() == 128 + number


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGINT])
def test_the_worker_gets_its_grace(plane: Server, agents: Pods, number: signal.Signals) -> None:
    plane.put('jobsets', JOBSET, AT_ONCE)
    # A shell in front, which would not pass a signal on.
    trap = f'trap "echo saving; sleep 0.3; echo saved; exit 0" {number.name[3:]}'
    inner = f'{trap}; echo working; while :; do sleep 0.05; done'
    agent = agents.start(environment={'WORKER_COMMAND': f"sh -c '{inner}'; true", 'SHELL': '/bin/sh'})
    agent.until_line('working')

    agent.signal(number)

    assert agent.ended() == 128 + number
    assert [line for line in agent.lines if line.startswith('sav')] == ['saving', 'saved']


def test_other_signals_are_for_the_worker_alone(plane: Server, agents: Pods) -> None:
    plane.put('jobsets', JOBSET, AT_ONCE)
    script = 'trap "echo told; exit 5" USR1; echo working; while :; do sleep 0.05; done'
    agent = agents.start(environment={'WORKER_COMMAND': script, 'SHELL': '/bin/sh'})
    agent.until_line('working')

    agent.signal(signal.SIGUSR1)

    assert agent.ended() == 5
    assert 'told' in agent.lines


def test_other_signals_before_the_worker_end_nothing(plane: Server, agents: Pods) -> None:
    plane.put('jobsets', JOBSET, jobset())
    agent = agents.start(environment={'WORKER_COMMAND': 'echo working'})
    plane.until(lambda: plane.annotation('pod-0') == '0', 'an announcement')
    agent.signal(signal.SIGHUP)

    plane.status(JOBSET, currentInPlaceRestartAttempt=0)

    assert agent.ended() == 0


def test_a_restart_takes_the_whole_worker_with_it(plane: Server, agents: Pods) -> None:
    plane.put('jobsets', JOBSET, jobset())
    # It ignores all requests to end, and so does its child: the output ends when both are gone.
    deaf = 'trap "" TERM INT HUP; (while :; do sleep 0.05; done) & echo working; while :; do sleep 0.05; done'
    agent = agents.start(environment={'WORKER_COMMAND': deaf, 'SHELL': '/bin/sh'})
    plane.until(lambda: plane.annotation('pod-0') == '0', 'an announcement')
    plane.status(JOBSET, currentInPlaceRestartAttempt=0)
    agent.until_line('working')

    plane.status(JOBSET, previousInPlaceRestartAttempt=0)

    assert agent.ended() == 1
    assert agent.lines[-1] == 'jobset-agent: attempt 0 is over, the pod is restarted in place; exit code 1'


def test_what_the_worker_leaves_behind_ends_with_it(plane: Server, agents: Pods) -> None:
    plane.put('jobsets', JOBSET, AT_ONCE)

    agent = agents.start(environment={'WORKER_COMMAND': 'sleep 3600 & exit 4', 'SHELL': '/bin/sh'})

    # The output ends only when nobody has it open any more.
    assert agent.ended() == 4


def test_programs_get_the_signals_of_pipes_as_usual(plane: Server, agents: Pods) -> None:
    plane.put('jobsets', JOBSET, AT_ONCE)

    agent = agents.start(environment={'WORKER_COMMAND': 'grep SigIgn /proc/self/status', 'SHELL': '/bin/sh'})

    assert agent.ended() == 0
    assert int(agent.until_line('SigIgn').split()[1], 16) & (1 << (signal.SIGPIPE - 1)) == 0
