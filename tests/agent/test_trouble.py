"""An API server that is away, overloaded, forgetful or unwilling: the agent comes through, and does not press it."""

import itertools

import pytest

from tests.agent.pods import JOBSET, Pods, jobset, pod
from tests.agent.server import JOBSETS, Asked, Fault, Server

ATTEMPT_0 = {'currentInPlaceRestartAttempt': 0}


@pytest.fixture(autouse=True)
def one_pod(plane: Server) -> None:
    plane.put('jobsets', JOBSET, jobset())
    plane.put('pods', 'pod-0', pod())


def is_list(asked: Asked) -> bool:
    return asked.path == JOBSETS and not asked.is_watch


def is_watch(asked: Asked) -> bool:
    return asked.is_watch


def is_patch(asked: Asked) -> bool:
    return asked.method == 'PATCH'


@pytest.mark.parametrize('fits', [is_list, is_watch, is_patch], ids=['list', 'watch', 'patch'])
@pytest.mark.parametrize('status', [0, 409, 429, 500])
def test_what_fails_is_tried_again(plane: Server, agents: Pods, fits: object, status: int) -> None:
    plane.faults.append(Fault(fits, status, times=2))  # type: ignore[arg-type]
    agent = agents.start()
    agent.until_line('trying again in', 2)
    plane.until(lambda: plane.annotation('pod-0') == '0', 'an announcement')

    plane.status(JOBSET, **ATTEMPT_0)

    agent.until_line('attempt 0 runs')
    assert agent.probe() == 200
    said = [line for line in agent.lines if 'trying again in' in line]
    assert len(said) == 2
    assert all((f': {status}' in line) if status else ('cut the connection' in line) for line in said)


def test_waits_for_as_long_as_the_server_asks(plane: Server, agents: Pods) -> None:
    plane.faults.append(Fault(is_list, 429, {'Retry-After': '1'}))
    agent = agents.start()

    said = agent.until_line('trying again in')

    assert 1 <= float(said.split('trying again in ')[1].split()[0]) < 2
    plane.until(lambda: plane.annotation('pod-0') == '0', 'an announcement')


def test_a_role_that_is_missing_is_named(plane: Server, agents: Pods) -> None:
    plane.faults.append(Fault(is_patch, 403))

    agent = agents.start()

    said = agent.until_line('403')
    assert said.startswith('jobset-agent: PATCH /api/v1/namespaces/team/pods/pod-0: 403: the service account needs ')


def test_a_token_that_is_replaced_is_read_again_and_never_told(plane: Server, agents: Pods) -> None:
    plane.tokens = {'second-token'}
    agent = agents.start()
    agent.until_line('401: the token of the service account is not accepted')
    (plane.account / 'token').write_text('second-token\n')

    plane.until(lambda: plane.annotation('pod-0') == '0', 'an announcement')

    plane.status(JOBSET, **ATTEMPT_0)
    assert agent.probe() == 200
    assert {one.token for one in plane.asked} == {'first-token', 'second-token'}
    assert not any('-token' in line for line in agent.lines)


def test_a_server_that_is_away_for_a_while(plane: Server, agents: Pods) -> None:
    agent = agents.start()
    plane.until(plane.watches, 'a watch')
    with plane.away():
        agent.until_line('Connection refused; trying again in', 2)
        plane.status(JOBSET, **ATTEMPT_0)

    agent.until_line('attempt 0 runs')
    assert agent.probe() == 200


@pytest.mark.parametrize(
    'fault',
    [
        pytest.param(Fault(is_watch, 410), id='as an answer'),
        pytest.param(
            Fault(is_watch, event={'type': 'ERROR', 'object': {'code': 410, 'message': 'too old resource version'}}),
            id='as an event',
        ),
    ],
)
def test_a_version_that_is_too_old_is_followed_by_a_new_list(plane: Server, agents: Pods, fault: Fault) -> None:
    fault.times = 1
    plane.faults.append(fault)
    agents.start()

    plane.until(lambda: len(plane.watches()) == 2, 'a second watch')

    assert [is_list(one) for one in plane.asked if not is_patch(one)] == [True, False, True, False]


def test_bookmarks_move_the_place_to_go_on_from(plane: Server, agents: Pods) -> None:
    agent = agents.start()
    plane.until(plane.watches, 'a watch')
    plane.bookmark()
    marked = plane.put('jobsets', 'other', jobset())['metadata']['resourceVersion']
    # Only the next watch tells what was taken in; this one ends with the bookmark.
    plane.bookmark()
    plane.end_watches()

    plane.until(lambda: len(plane.watches()) == 2, 'a second watch')

    assert int(plane.watches()[1].query['resourceVersion']) > int(marked)
    assert len([one for one in plane.asked if is_list(one)]) == 1
    assert agent.process.poll() is None


@pytest.mark.parametrize('fault', [Fault(is_watch, 500), Fault(is_watch, is_empty=True)], ids=['refused', 'ended'])
def test_watches_that_end_at_once_are_not_repeated_at_once(plane: Server, agents: Pods, fault: Fault) -> None:
    fault.times = 4
    plane.faults.append(fault)
    agents.start()
    plane.until(lambda: len(plane.watches()) == 5, 'five watches')

    # Each pause is at least half of its bound, and the bounds double: 0.25, 0.5, 1, 2.
    times = [one.at for one in plane.watches()]
    pauses = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert all(pause >= bound / 2 for pause, bound in zip(pauses, (0.25, 0.5, 1, 2), strict=True))


def test_the_start_costs_three_requests_over_one_connection(plane: Server, agents: Pods) -> None:
    agents.start()
    plane.until(plane.watches, 'a watch')

    assert [(one.method, one.is_watch) for one in plane.asked] == [('GET', False), ('PATCH', False), ('GET', True)]
    assert len({one.peer for one in plane.asked}) == 1
    watch = plane.watches()[0].query
    assert watch.keys() == {'fieldSelector', 'watch', 'allowWatchBookmarks', 'resourceVersion', 'timeoutSeconds'}
    assert 135 <= int(watch['timeoutSeconds']) <= 225
    # Read past all caches: what one of them still holds may be of a round that is over.
    assert plane.asked[0].query == {'fieldSelector': f'metadata.name={JOBSET}'}
