"""How each sample ends: what its header promises, to the letter."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from tests.scenarios import space
from tests.scenarios.api import History, Object, Objects
from tests.scenarios.space import SAMPLES, Space, attempt, conditions, counters, message, sample, state

Check = Callable[[Space], None]

COMPLETED: Final = {'Completed': ('True', 'AllJobsCompleted')}


@dataclass(frozen=True, kw_only=True)
class Ending:
    """The end of a JobSet, with all that it leaves behind."""

    conditions: Mapping[str, tuple[str, str]] = field(default_factory=lambda: dict(COMPLETED))
    first_failed: str = ''
    """The Job that the message of the end names, where the JobSet fails."""
    restarts: int = 0
    counted: int | None = None
    """Restarts that count towards the limit, where not all of them do."""
    jobs: Mapping[str, str]
    """The Jobs that stay, and how each of them ended, such as ``Complete`` or, in a later attempt, ``Complete 1``."""
    counters: Mapping[str, Mapping[str, int]]
    logs: Mapping[str, list[str]] = field(default_factory=dict)
    """Lines of the Jobs that stay."""
    services: frozenset[str] | None = None
    """The headless Services; by default one that is named after the JobSet."""
    claims: frozenset[str] = frozenset()
    story: Callable[[History], None] | None = None
    """What must have been true of the Jobs on the way."""


def succeeded(**jobs: int) -> dict[str, dict[str, int]]:
    """Counters where so many Jobs of each replicated job succeeded, and none is anything else."""
    return {name: {'succeeded': count} if count else {} for name, count in jobs.items()}


def ends(file: str, ending: Ending) -> Check:
    """A check that applies a sample and compares its end."""

    def check(here: Space) -> None:
        with here.history('jobs') as jobs:
            here.apply(SAMPLES / file)
            compare(here, _name(file), ending)
        if ending.story:
            ending.story(jobs)

    return check


def compare(here: Space, name: str, ending: Ending) -> None:
    """Wait for the end of a JobSet, and compare all of it."""
    (kind,) = {'Completed', 'Failed'} & set(ending.conditions)
    # The counters and the Jobs come to rest after the end: what still ran is taken away.
    here.until_jobset(name, lambda one: bool(one.get('status', {}).get('terminalState')), what='an end')
    jobs = here.until(
        'jobs',
        lambda seen: (
            all('deletionTimestamp' not in job['metadata'] for job in seen.values()) and set(seen) <= set(ending.jobs)
        ),
        what='no Job but those that stay',
    )
    one = here.until_jobset(
        name,
        lambda one: not any({'active', 'ready'} & set(each) for each in counters(one).values()),
        what='nothing active',
    )
    status = one['status']
    assert {each: _end(job) for each, job in jobs.items()} == dict(ending.jobs)
    assert conditions(one) == dict(ending.conditions)
    assert (status['terminalState'], status['restarts']) == (kind, ending.restarts)
    assert status.get('restartsCountTowardsMax', 0) == (ending.restarts if ending.counted is None else ending.counted)
    assert counters(one) == dict(ending.counters)
    assert ending.first_failed in message(one, kind)
    assert {job: here.logs(job) for job in ending.logs} == dict(ending.logs)
    assert set(here.all('services')) == ({name} if ending.services is None else ending.services)
    assert set(here.all('persistentvolumeclaims')) == ending.claims


def _end(job: Object) -> str:
    return f'{state(job)} {attempt(job)}' if attempt(job) else state(job)


def _name(file: str) -> str:
    return next(str(one['metadata']['name']) for one in sample(file) if one['kind'] == 'JobSet')


def failed(reason: str, **others: tuple[str, str]) -> dict[str, tuple[str, str]]:
    """The conditions of a JobSet that failed, perhaps after restarts."""
    return {'Failed': ('True', reason), **others}


def _restarted(reason: str) -> dict[str, tuple[str, str]]:
    return {'RestartingJobSet': ('False', reason)}


# What must have been so on the way.


def _stages(jobs: History) -> None:
    server = jobs.first(lambda seen: 'depends-on-server-0' in seen)
    client = jobs.first(lambda seen: 'depends-on-client-0' in seen)
    assert state(server['depends-on-data-0']) == 'Complete'
    assert client['depends-on-server-0']['status']['ready'] == 1


def _driver_first(jobs: History) -> None:
    workers = jobs.first(lambda seen: any(name.startswith('startup-in-order-worker') for name in seen))
    assert workers['startup-in-order-driver-0']['status']['ready'] == 1


def _all_found(jobs: History) -> None:
    done = jobs.first(lambda seen: 'dns-done-0' in seen)
    assert [done[f'dns-peer-{index}']['status']['ready'] for index in range(2)] == [2, 2]


def _never_mixed(jobs: History) -> None:
    assert [attempts for attempts in map(_attempts, jobs.moments) if len(attempts) > 1] == []


def _attempts(seen: Objects) -> set[int]:
    return {attempt(one) for one in seen.values()}


# Samples that take more than waiting for their end.


def _blocking(here: Space) -> None:
    with here.history('pods') as pods:
        ends('restart-blocking.yaml', _BLOCKING)(here)
    _never_mixed(pods)
    # Both attempts were there, so there was something to mix.
    assert set().union(*map(_attempts, pods.moments)) == {0, 1}


def _gang(here: Space) -> None:
    with here.history('podgroups') as groups:
        here.apply(SAMPLES / 'gang.yaml')
        here.until_condition('gang', 'Completed')
        here.until('podgroups', lambda seen: not seen, what='the groups to go')
    sizes: dict[str, int] = {}
    for moment in groups.moments:
        for name, group in moment.items():
            sizes.setdefault(name, group['spec']['schedulingPolicy']['gang']['minCount'])
    assert sizes == {'gang-stage-0-0': 1, 'gang-stage-1-0': 4}
    assert here.logs('gang-workers-0') + here.logs('gang-workers-1') == ['trained'] * 4


def _pipeline(here: Space) -> None:
    ends('pipeline.yaml', _PIPELINE)(here)
    assert sorted(here.logs('pipeline-prep-0')) == ['test.csv: 400 rows', 'train.csv: 1600 rows']
    lines = here.logs('pipeline-train-0') + here.logs('pipeline-train-1')
    assert {line for line in lines if line.endswith('trains on 400 rows')} == {
        f'rank {rank} of 4 trains on 400 rows' for rank in range(4)
    }
    assert trained(here) > 0.95


def trained(here: Space) -> float:
    """The accuracy that rank 0 of the pipeline prints at its end."""
    last = here.logs('pipeline-train-0')
    (found,) = [match for line in last if (match := re.fullmatch(r'final accuracy=(0\.\d{3}|1\.000) .*', line))]
    return float(found[1])


def _claims(here: Space) -> None:
    ends('volume-claims.yaml', _CLAIMS)(here)
    here.delete('jobsets', 'volume-claims')
    left = here.until(
        'persistentvolumeclaims', lambda seen: 'scratch-volume-claims' not in seen, what='the scratch volume to go'
    )
    assert set(left) == {'models-volume-claims'}
    assert 'ownerReferences' not in left['models-volume-claims']['metadata']
    assert left['models-volume-claims']['status']['phase'] == 'Bound'


def _suspend(here: Space) -> None:
    here.apply(SAMPLES / 'suspend.yaml')
    one = here.until_condition('suspend', 'Suspended')
    jobs = here.until('jobs', lambda seen: any(state(job) == 'Suspended' for job in seen.values()), what='suspension')
    assert [state(job) for job in jobs.values()] == ['Suspended']
    assert conditions(one) == {'Suspended': ('True', 'SuspendedJobs')}
    assert here.all('pods') == {}

    (patch,) = re.findall(r"--patch '(.*?)'", (SAMPLES / 'suspend.yaml').read_text().replace('\n#', '\n'), re.DOTALL)
    here.patch('jobsets', 'suspend', *json.loads(patch))
    compare(here, 'suspend', _RESUMED)
    (pod,) = here.all('pods').values()
    assert pod['spec']['nodeSelector'] == {'kubernetes.io/os': 'linux'}


def _ttl(here: Space) -> None:
    here.apply(SAMPLES / 'ttl.yaml')
    with here.history('jobsets') as story:
        here.until('jobsets', lambda seen: not seen, what='the JobSet to go')
        here.until('jobs', lambda seen: not seen, what='its Jobs to go')
    last = [moment['ttl'] for moment in story.moments if 'ttl' in moment][-1]
    (finished,) = [each for each in last['status']['conditions'] if each['type'] == 'Completed']
    lived = _time(last['metadata']['deletionTimestamp']) - _time(finished['lastTransitionTime'])
    assert lived >= timedelta(seconds=5)


def _managed_by(here: Space) -> None:
    here.apply(SAMPLES / 'managed-by.yaml')
    # The controller has seen everything up to this one, which it takes care of.
    here.apply(space.jobset('later', space.replicated('main', 'true')))
    here.until_condition('later', 'Completed')

    assert set(here.all('jobs')) == {'later-main-0'}
    assert set(here.all('services')) == {'later'}
    assert 'status' not in here.jobset('managed-by')


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


_BLOCKING = Ending(
    conditions=COMPLETED | _restarted('JobSetCompleted'),
    restarts=1,
    jobs={'restart-blocking-worker-0': 'Complete 1', 'restart-blocking-leader-0': 'Complete 1'},
    counters=succeeded(worker=1, leader=1),
    story=_never_mixed,
)
_CLAIMS = Ending(
    jobs={'volume-claims-writer-0': 'Complete', 'volume-claims-reader-0': 'Complete'},
    counters=succeeded(writer=1, reader=1),
    logs={'volume-claims-reader-0': ['read: a model made of scraps']},
    claims=frozenset({'scratch-volume-claims', 'models-volume-claims'}),
)
_PIPELINE = Ending(
    jobs={f'pipeline-{job}': 'Complete' for job in ('prep-0', 'train-0', 'train-1')},
    counters=succeeded(prep=1, train=2),
    claims=frozenset({'data-pipeline'}),
)
_RESUMED = Ending(
    conditions=COMPLETED | {'Suspended': ('False', 'ResumeJobs')},
    jobs={'suspend-main-0': 'Complete'},
    counters=succeeded(main=1),
    logs={'suspend-main-0': ['resumed']},
)

_ENDINGS: Final[dict[str, Ending]] = {
    'names.yaml': Ending(
        jobs={'names-driver-0': 'Complete', 'names-worker-0': 'Complete', 'names-worker-1': 'Complete'},
        counters=succeeded(driver=1, worker=2),
        logs={
            'names-driver-0': ['names-driver-0 global 0 of 3, group control 0 of 1'],
            'names-worker-0': ['names-worker-0 global 1 of 3, group compute 0 of 2'],
            'names-worker-1': ['names-worker-1 global 2 of 3, group compute 1 of 2'],
        },
    ),
    'dns.yaml': Ending(
        jobs={'dns-done-0': 'Complete'},
        counters=succeeded(peer=0, done=1),
        logs={'dns-done-0': ['all peers have found each other']},
        story=_all_found,
    ),
    'dns-subdomain.yaml': Ending(
        jobs={'dns-subdomain-client-0': 'Complete'},
        counters=succeeded(server=0, client=1),
        logs={'dns-subdomain-client-0': ['hello', 'reached dns-subdomain-server-0-0.mesh']},
        services=frozenset({'mesh'}),
    ),
    'dns-off.yaml': Ending(
        jobs={'dns-off-main-0': 'Complete'},
        counters=succeeded(main=1),
        logs={'dns-off-main-0': ['no name leads to dns-off-main-0-0.dns-off']},
        services=frozenset(),
    ),
    'depends-on.yaml': Ending(
        jobs={'depends-on-data-0': 'Complete', 'depends-on-client-0': 'Complete'},
        counters=succeeded(data=1, server=0, client=1),
        logs={'depends-on-client-0': ['got 42']},
        claims=frozenset({'data-depends-on'}),
        story=_stages,
    ),
    'startup-in-order.yaml': Ending(
        conditions=COMPLETED
        | {
            'StartupPolicyInProgress': ('False', 'InOrderStartupPolicyInProgress'),
            'StartupPolicyCompleted': ('True', 'InOrderStartupPolicyCompleted'),
        },
        jobs={'startup-in-order-worker-0': 'Complete', 'startup-in-order-worker-1': 'Complete'},
        counters=succeeded(driver=0, worker=2),
        story=_driver_first,
    ),
    'success-any.yaml': Ending(jobs={'success-any-search-0': 'Complete'}, counters=succeeded(helper=0, search=1)),
    'success-all-targets.yaml': Ending(
        jobs={'success-all-targets-worker-0': 'Complete', 'success-all-targets-worker-1': 'Complete'},
        counters=succeeded(server=0, worker=2),
    ),
    'failure-default.yaml': Ending(
        conditions=failed('FailedJobs'),
        first_failed='(first failed job: failure-default-main-0)',
        jobs={'failure-default-main-0': 'Failed'},
        counters={'main': {'failed': 1}, 'bystander': {}},
    ),
    'failure-max-restarts.yaml': Ending(
        conditions=failed('ReachedMaxRestarts', **_restarted('JobSetFailed')),
        first_failed='(first failed job: failure-max-restarts-main-0)',
        restarts=1,
        jobs={'failure-max-restarts-main-0': 'Failed 1'},
        counters={'main': {'failed': 1}},
    ),
    'failure-rules.yaml': Ending(
        conditions=failed('FailJobSetFailurePolicyAction', **_restarted('JobSetFailed')),
        first_failed='(first failed job: failure-rules-leader-0)',
        restarts=1,
        counted=0,
        jobs={'failure-rules-leader-0': 'Failed 1'},
        counters={'leader': {'failed': 1}, 'worker': {}},
    ),
    'failure-message-pattern.yaml': Ending(
        conditions=failed('FailJobSetFailurePolicyAction', **_restarted('JobSetFailed')),
        first_failed='(first failed job: failure-message-pattern-main-0)',
        restarts=1,
        jobs={'failure-message-pattern-main-0': 'Failed 1'},
        counters={'main': {'failed': 1}},
    ),
    'restart-once.yaml': Ending(
        conditions=COMPLETED | _restarted('JobSetCompleted'),
        restarts=1,
        jobs={f'restart-once-{job}': 'Complete 1' for job in ('leader-0', 'worker-0', 'worker-1')},
        counters=succeeded(leader=1, worker=2),
        logs={'restart-once-leader-0': ['attempt 1 goes on from 10']},
        claims=frozenset({'state-restart-once'}),
    ),
    'coordinator.yaml': Ending(
        jobs={f'coordinator-{job}': 'Complete' for job in ('leader-0', 'worker-0', 'worker-1')},
        counters=succeeded(leader=1, worker=2),
        logs={
            'coordinator-leader-0': ['I am coordinator-leader-0-0'],
            'coordinator-worker-0': ['the coordinator is coordinator-leader-0-0.coordinator'],
            'coordinator-worker-1': ['the coordinator is coordinator-leader-0-0.coordinator'],
        },
    ),
}

# Those that take longest come first, so that none of them is alone at the end.
CHECKS: Final[dict[str, Check]] = {
    'gang.yaml': _gang,
    'pipeline.yaml': _pipeline,
    'restart-blocking.yaml': _blocking,
    'startup-in-order.yaml': ends('startup-in-order.yaml', _ENDINGS['startup-in-order.yaml']),
    'ttl.yaml': _ttl,
    'volume-claims.yaml': _claims,
    'suspend.yaml': _suspend,
    'managed-by.yaml': _managed_by,
    **{file: ends(file, ending) for file, ending in _ENDINGS.items()},
}
"""One check for each file in ``samples``."""
