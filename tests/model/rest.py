"""What must be true once everything has come to rest, judged from the server alone."""

from typing import Any

import msgspec

from jobset.api import keys, types
from jobset.core import done
from tests.model import api

Object = dict[str, Any]


def check(server: api.Server) -> None:
    """Raises AssertionError naming the first thing that is not as it should be."""
    jobset = server.get('jobsets', 'js')
    if jobset is None:
        left = [obj['metadata']['name'] for plural in api.KINDS for obj in server.view(plural) if api.owner_uid(obj)]
        assert left == [], f'{left} outlive their set'
        return
    assert 'deletionTimestamp' not in jobset['metadata'], 'the set is still going'
    children = [job for job in server.view('jobs') if api.owner_uid(job) == jobset['metadata']['uid']]
    going = [_name(job) for job in children if 'deletionTimestamp' in job['metadata']]
    assert going == [], f'{going} are still going'
    _check_counters(jobset, children)
    if any(_holds(jobset, kind) for kind in ('Completed', 'Failed')):
        running = [_name(job) for job in children if _is_current(jobset, job) and not _ending(job)]
        assert running == [], f'{running} run after the end'
        return
    earlier = [_name(job) for job in children if not _is_current(jobset, job)]
    assert earlier == [], f'{earlier} are of an earlier attempt'
    _check_suspension(jobset, children)
    _check_presence(jobset, children)
    _check_belongings(server, jobset)


def _check_counters(jobset: Object, children: list[Object]) -> None:
    gone = _done_and_gone(jobset, children)
    counted = {
        part['name']: [
            (len(gone.get(part['name'], ())) if kind == 'Complete' else 0)
            + sum(
                _is_current(jobset, job) and _ending(job) == kind
                for job in children
                if job['metadata']['labels'][keys.REPLICATED_JOB_NAME] == part['name']
            )
            for kind in ('Complete', 'Failed')
        ]
        for part in jobset['spec']['replicatedJobs']
    }
    told = jobset.get('status', {}).get('replicatedJobsStatus', [])
    assert {entry['name']: [entry['succeeded'], entry['failed']] for entry in told} == counted


def _check_suspension(jobset: Object, children: list[Object]) -> None:
    unfinished = [job for job in children if not _ending(job)]
    suspended = bool(jobset['spec'].get('suspend'))
    if not _is_in_order(jobset) or suspended or _holds(jobset, 'StartupPolicyCompleted'):
        # In order, the resume is told of at its end.
        assert _holds(jobset, 'Suspended') is suspended
    if suspended:
        running = [_name(job) for job in unfinished if not job['spec']['suspend'] or job['status'].get('active')]
        assert running == [], f'{running} run while the set is suspended'
        return
    templates = {part['name']: part['template']['spec']['template'] for part in jobset['spec']['replicatedJobs']}
    for job in unfinished:
        if 'parallelism' in job['spec']:
            part = job['metadata']['labels'][keys.REPLICATED_JOB_NAME]
            size = next(p for p in jobset['spec']['replicatedJobs'] if p['name'] == part)['template']['spec']
            assert job['spec']['parallelism'] == size['parallelism'], f'{_name(job)} has the wrong size'
        if not job['spec']['suspend']:
            wanted = templates[job['metadata']['labels'][keys.REPLICATED_JOB_NAME]]['spec'].get('nodeSelector')
            assert job['spec']['template']['spec'].get('nodeSelector') == wanted, (
                f'{_name(job)} runs in the wrong place'
            )


def _check_presence(jobset: Object, children: list[Object]) -> None:
    """Without an order of starting, all Jobs are there; no failure is left without an answer."""
    failed = [_name(job) for job in children if _ending(job) == 'Failed']
    assert failed == [] or jobset['spec'].get('suspend'), f'{failed} failed and nothing is done'
    parts = jobset['spec']['replicatedJobs']
    is_ordered = _is_in_order(jobset) or any(part.get('dependsOn') for part in parts)
    wanted = {f'js-{part["name"]}-{index}' for part in parts for index in range(part['replicas'])}
    wanted -= {f'js-{name}-{index}' for name, indexes in _done_and_gone(jobset, children).items() for index in indexes}
    present = {_name(job) for job in children}
    assert present <= wanted
    if not is_ordered and not _holds(jobset, 'NameConflict'):
        assert present == wanted
    if not jobset['spec'].get('suspend') and (not is_ordered or _holds(jobset, 'StartupPolicyCompleted')):
        held = [_name(job) for job in children if not _ending(job) and job['spec']['suspend']]
        assert held == [], f'{held} are not started'


def _check_belongings(server: api.Server, jobset: Object) -> None:
    spec, uid = jobset['spec'], jobset['metadata']['uid']
    service = server.get('services', 'js')
    wants_names = bool((spec.get('network') or {}).get('enableDNSHostnames'))
    if wants_names:
        assert service is not None, 'the Service is missing'
    in_the_way = [
        _name(job)
        for job in server.view('jobs')
        if api.owner_uid(job) is None
        and _name(job) in {f'js-{p["name"]}-{i}' for p in spec['replicatedJobs'] for i in range(p['replicas'])}
    ]
    is_useless = (
        wants_names
        and service is not None
        and api.owner_uid(service) != uid
        and service['spec']['selector'] != {keys.JOBSET_NAME: 'js'}
    )
    if not in_the_way and not is_useless:
        assert not _holds(jobset, 'NameConflict'), 'a conflict is told of that is over'
    if is_useless:
        assert _holds(jobset, 'NameConflict'), 'a Service is in the way and nobody is told'
    if spec.get('volumeClaimPolicies'):
        assert server.get('persistentvolumeclaims', 'data-js') is not None, 'the claim is missing'


def _done_and_gone(jobset: Object, children: list[Object]) -> dict[str, set[int]]:
    """What is noted as done, and is not there any more."""
    decoded = _decoded(jobset)
    present = {_name(job) for job in children}
    noted = done.known(decoded) if done.is_wanted(decoded) else {}
    return {
        name: {index for index in indexes if f'js-{name}-{index}' not in present} for name, indexes in noted.items()
    }


def _decoded(jobset: Object) -> types.JobSet:
    return msgspec.json.decode(msgspec.json.encode(jobset), type=types.JobSet)


def _is_in_order(jobset: Object) -> bool:
    return (jobset['spec'].get('startupPolicy') or {}).get('startupPolicyOrder') == 'InOrder'


def _name(obj: Object) -> str:
    name: str = obj['metadata']['name']
    return name


def _is_current(jobset: Object, job: Object) -> bool:
    """Whether a Job is of the running attempt of the set, and of its own."""
    labels, status = job['metadata']['labels'], jobset.get('status', {})
    singly: list[int] = next(
        (
            entry.get('jobRestarts', [])
            for entry in status.get('replicatedJobsStatus', [])
            if entry['name'] == labels[keys.REPLICATED_JOB_NAME]
        ),
        [],
    )
    own = singly[int(labels[keys.JOB_INDEX])] if singly else 0
    return (
        int(labels[keys.RESTART_ATTEMPT]) == status.get('restarts', 0)
        and int(labels.get(keys.JOB_RESTART_ATTEMPT, 0)) == own
    )


def _ending(job: Object) -> str | None:
    for condition in job['status'].get('conditions', []):
        if condition['type'] in ('Complete', 'Failed') and condition['status'] == 'True':
            return str(condition['type'])
    return None


def _holds(jobset: Object, kind: str) -> bool:
    conditions = jobset.get('status', {}).get('conditions', [])
    return any(c['type'] == kind and c['status'] == 'True' for c in conditions)
