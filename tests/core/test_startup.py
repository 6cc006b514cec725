"""Which replicated jobs may start."""

import pytest

from jobset.api import stages
from jobset.core import family, startup
from tests.core import build


def _cohort(**tallies: family.Tally) -> family.Cohort:
    return family.Cohort(tallies=tallies)


@pytest.mark.parametrize(
    ('status', 'tally', 'replicas', 'starts'),
    [
        pytest.param('Complete', family.Tally(succeeded=1), 2, False, id='not all are complete'),
        pytest.param('Complete', family.Tally(succeeded=2), 2, True, id='all are complete'),
        pytest.param('Complete', family.Tally(ready=2, active=2), 2, False, id='ready is not complete'),
        pytest.param('Complete', family.Tally(succeeded=1, failed=1), 2, False, id='failed is not complete'),
        pytest.param('Complete', family.Tally(), 0, True, id='nothing to complete'),
        pytest.param('Ready', family.Tally(), 2, False, id='nothing is up yet'),
        pytest.param('Ready', family.Tally(active=2), 2, False, id='active is not ready'),
        pytest.param('Ready', family.Tally(ready=1, succeeded=1), 2, True, id='one ready, one already done'),
        pytest.param('Ready', family.Tally(ready=2), 2, True, id='all ready'),
        pytest.param('Ready', family.Tally(ready=1, failed=1), 2, True, id='one ready, one that was so before'),
        pytest.param('Ready', family.Tally(), 0, True, id='nothing to become ready'),
    ],
)
def test_a_dependency(status: str, tally: family.Tally, replicas: int, starts: bool) -> None:
    jobset = build.jobset(build.part('a', replicas), build.part('b', dependsOn=[build.needs('a', status)]))
    earlier, job = jobset.spec.replicated_jobs

    assert startup.may_start(job, [earlier], _cohort(a=tally)) is starts


@pytest.mark.parametrize(
    ('depends_on', 'starts'),
    [
        pytest.param(None, True, id='absent'),
        pytest.param([], True, id='empty'),
        pytest.param([build.needs('a', 'Ready'), build.needs('b', 'Complete')], False, id='one of two is reached'),
        pytest.param([build.needs('a', 'Ready'), build.needs('b', 'Ready')], True, id='both are reached'),
        pytest.param([build.needs('c', 'Ready')], False, id='itself is never reached'),
        pytest.param([build.needs('d', 'Ready')], False, id='a later one is never reached'),
        pytest.param([build.needs('nobody', 'Ready')], False, id='nobody is never reached'),
    ],
)
def test_may_start(depends_on: list[build.Manifest] | None, starts: bool) -> None:
    fields: build.Manifest = {} if depends_on is None else {'dependsOn': depends_on}
    jobset = build.jobset(build.part('a'), build.part('b'), build.part('c', **fields), build.part('d', 0))
    cohort = _cohort(a=family.Tally(ready=1), b=family.Tally(ready=1), c=family.Tally(ready=1))

    assert startup.may_start(jobset.spec.replicated_jobs[2], jobset.spec.replicated_jobs[:2], cohort) is starts


@pytest.mark.parametrize(
    ('tally', 'started'),
    [
        pytest.param(family.Tally(ready=1), False, id='one of two'),
        pytest.param(family.Tally(ready=1, succeeded=1), True, id='ready and done'),
        pytest.param(family.Tally(ready=1, failed=1), True, id='ready and failed'),
        pytest.param(family.Tally(active=2), False, id='active only'),
    ],
)
def test_is_started(tally: family.Tally, started: bool) -> None:
    assert startup.is_started(build.jobset(build.part('a', 2)).spec.replicated_jobs[0], _cohort(a=tally)) is started


@pytest.mark.parametrize(
    ('policy', 'in_order'),
    [
        pytest.param(None, False, id='no policy'),
        pytest.param({'startupPolicyOrder': 'AnyOrder'}, False, id='any order'),
        pytest.param({'startupPolicyOrder': 'InOrder'}, True, id='in order'),
    ],
)
def test_in_order(policy: build.Manifest | None, in_order: bool) -> None:
    assert stages.in_order(build.jobset(startupPolicy=policy)) is in_order
