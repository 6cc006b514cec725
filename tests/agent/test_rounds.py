"""Restarts in place, as one agent does them: each step of the Go agent's protocol, in both modes."""

import pytest

from jobset.agent import rounds
from tests.agent.pods import JOBSET, Pods, jobset, pod
from tests.agent.server import Server


@pytest.mark.parametrize(
    ('status', 'announced'),
    [
        pytest.param({}, '0', id='the first start'),
        pytest.param({'currentInPlaceRestartAttempt': 0}, '1', id='the second start'),
        pytest.param({'currentInPlaceRestartAttempt': 1, 'previousInPlaceRestartAttempt': 0}, '2', id='the third'),
        pytest.param({'previousInPlaceRestartAttempt': 3}, '0', id='a number that is over'),
    ],
)
def test_a_start_announces_the_number_after_the_one_that_runs(
    plane: Server, agents: Pods, status: dict[str, int], announced: str
) -> None:
    plane.put('jobsets', JOBSET, jobset() | {'status': status})
    plane.put('pods', 'pod-0', pod())

    agents.start()

    plane.until(lambda: plane.annotation('pod-0') == announced, 'an announcement')
    (patch,) = [one for one in plane.asked if one.method == 'PATCH'][:1]
    assert patch.query == {'fieldManager': 'in-place-restart-agent', 'force': 'true'}
    assert patch.body == {
        'apiVersion': 'v1',
        'kind': 'Pod',
        'metadata': {'name': 'pod-0', 'annotations': {rounds.ATTEMPT: announced}},
    }


@pytest.mark.parametrize('code', ['1', '42'])
def test_a_number_that_is_over_ends_the_agent(plane: Server, agents: Pods, code: str) -> None:
    plane.put('jobsets', JOBSET, jobset())
    plane.put('pods', 'pod-0', pod())
    agent = agents.start(environment={'IN_PLACE_RESTART_EXIT_CODE': code})
    plane.until(lambda: plane.annotation('pod-0') == '0', 'an announcement')

    plane.status(JOBSET, previousInPlaceRestartAttempt=0)

    assert agent.ended() == int(code)
    assert agent.lines[-1] == f'jobset-agent: attempt 0 is over, the pod is restarted in place; exit code {code}'


def test_the_barrier_opens_when_its_number_runs(plane: Server, agents: Pods) -> None:
    plane.put('jobsets', JOBSET, jobset())
    plane.put('pods', 'pod-0', pod())
    agent = agents.start()
    plane.until(lambda: plane.annotation('pod-0') == '0', 'an announcement')
    with pytest.raises(TimeoutError):
        agent.probe(seconds=0.2)
    plane.status(JOBSET, restarts=1)

    plane.status(JOBSET, currentInPlaceRestartAttempt=0)

    assert agent.probe() == 200
    assert agent.probe('/barrier-is-up') == 404
    assert agent.process.poll() is None


def test_another_number_that_runs_opens_nothing(plane: Server, agents: Pods) -> None:
    plane.put('jobsets', JOBSET, jobset())
    plane.put('pods', 'pod-0', pod())
    agent = agents.start()
    plane.until(lambda: plane.annotation('pod-0') == '0', 'an announcement')
    plane.status(JOBSET, currentInPlaceRestartAttempt=1)
    # It has seen that when it has seen what comes after it.
    plane.status(JOBSET, previousInPlaceRestartAttempt=0)

    assert agent.ended() == 1
    assert not any('barrier is down' in line for line in agent.lines)


@pytest.mark.parametrize(
    'one',
    [
        pytest.param(jobset(strategy='Recreate'), id='another strategy'),
        pytest.param(jobset(strategy='BlockingRecreate'), id='the other strategy'),
        pytest.param(jobset(strategy=None), id='no failure policy'),
        pytest.param(jobset(annotations={rounds.DISABLED: ''}), id='switched off'),
    ],
)
def test_what_is_not_restarted_in_place_starts_at_once(plane: Server, agents: Pods, one: dict[str, object]) -> None:
    plane.put('jobsets', JOBSET, one | {'status': {'previousInPlaceRestartAttempt': 7}})
    plane.put('pods', 'pod-0', pod())

    agent = agents.start()

    agent.until_line('pods of this JobSet are not restarted in place: the barrier is down')
    assert agent.probe() == 200
    assert plane.annotation('pod-0') is None
    assert [asked.method for asked in plane.asked if asked.method == 'PATCH'] == []


def test_waits_for_a_jobset_that_is_not_there_and_outlives_it(plane: Server, agents: Pods) -> None:
    plane.put('pods', 'pod-0', pod(jobset_uid='uid-of-first'))
    agent = agents.start()
    plane.until(plane.watches, 'a watch')
    first = jobset()
    first['metadata']['uid'] = 'uid-of-first'
    plane.put('jobsets', JOBSET, first)
    plane.until(lambda: plane.annotation('pod-0') == '0', 'an announcement')
    plane.delete('jobsets', JOBSET)
    # Another one of the same name, whose pods are others: nothing that it says is about this pod.
    other = jobset() | {'status': {'previousInPlaceRestartAttempt': 5}}
    other['metadata']['uid'] = 'uid-of-second'
    plane.put('jobsets', JOBSET, other)
    plane.delete('jobsets', JOBSET)

    plane.put('jobsets', JOBSET, first | {'status': {'currentInPlaceRestartAttempt': 0}})

    assert agent.probe() == 200


def test_tells_where_the_server_does_not_know_the_rule(plane: Server, agents: Pods) -> None:
    plane.put('jobsets', JOBSET, jobset())
    plane.put('pods', 'pod-0', pod(rules=[]))

    agent = agents.start()

    agent.until_line('cannot be restarted in place')
