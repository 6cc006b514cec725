"""Random JobSets, and what happens to them: facts of the cluster that a story may tell in any order."""

import random
import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from jobset.api import extras, features, keys
from jobset.core import inplace, waiting
from tests.core import build
from tests.model import api, kubelets, simulation

Object = dict[str, Any]

REASONS: Final = ('BackoffLimitExceeded', 'PodFailurePolicy')
_MOMENT: Final = re.compile(r'\d{4}-\d\d-\d\dT[0-9:.]+(?:Z|\+00:00)')

_FREE: Final = re.compile(r'attempts up to \d+ are answered: |, \d+ do not')
"""What began while a set was being suspended is free; whether anything did is chance."""

TTL_SECONDS: Final = 10_000
"""Longer than anything that a story waits for by itself."""


class Fact(NamedTuple):
    """Something that happens from outside. It names all it needs, so that it means the same in every order."""

    what: str
    happen: Callable[[simulation.Simulation], None]

    def __repr__(self) -> str:
        return self.what


def manifest(chance: random.Random, gates: features.FeatureGates) -> Object:
    """A JobSet as admission would let it pass."""
    names = 'abc'[: chance.choice((1, 2, 2, 2, 3))]
    order = chance.choice(('', '', 'InOrder', 'dependsOn'))
    parts = [
        _part(chance, name, depends_on=names[:position] if order == 'dependsOn' else '')
        for position, name in enumerate(names)
    ]
    spec: Object = {'replicatedJobs': parts, 'startupPolicy': {'startupPolicyOrder': order or 'AnyOrder'}}
    if order == 'dependsOn':
        spec['startupPolicy'] = {'startupPolicyOrder': 'AnyOrder'}
    if chance.random() < 0.8:
        spec['failurePolicy'] = _failure_policy(chance, names, gates)
    if chance.random() < 0.5:
        targets = chance.sample(names, chance.randint(0, len(names)))
        spec['successPolicy'] = {
            'operator': chance.choice(('All', 'All', 'Any')),
            'targetReplicatedJobs': targets,
        }
    if chance.random() < 0.5:
        spec['network'] = {'enableDNSHostnames': True}
    if chance.random() < 0.2:
        claim = {'metadata': {'name': 'data'}, 'spec': {'accessModes': ['ReadWriteOnce']}}
        spec['volumeClaimPolicies'] = [{'templates': [claim], 'retentionPolicy': {'whenDeleted': 'Delete'}}]
    if chance.random() < 0.2:
        spec['suspend'] = True
    if chance.random() < 0.2:
        spec['ttlSecondsAfterFinished'] = TTL_SECONDS
    metadata: Object = {'name': 'js'}
    if chance.random() < 0.5:
        metadata['annotations'] = _asked_for(chance)
    if chance.random() < 0.1:
        metadata.setdefault('annotations', {})[keys.EXCLUSIVE_TOPOLOGY] = 'rack'
    if _is_in_place(spec):
        _prepare_in_place(chance, spec)
        if metadata.get('annotations', {}).get(extras.RESTART_ON.key) == 'PodLost':
            del metadata['annotations'][extras.RESTART_ON.key]
    return {'apiVersion': keys.API_VERSION, 'kind': keys.KIND, 'metadata': metadata, 'spec': spec}


def _asked_for(chance: random.Random) -> Object:
    """Annotations of ours. Limits are so long that only :func:`expire` brings them to their end."""
    choices = {
        extras.DONE_STAYS_DONE: ('true',),
        extras.RESTART_BUDGETS: (
            'any=1',
            'a/any=free, unknown=1',
            'application=3',
            'disruption=free, application=1, unknown=2',
        ),
        extras.RESTART_PAUSE: ('base=2s, cap=20s',),
        extras.RESTART_ON: ('PodLost', 'FailureTarget'),
        extras.FENCE_AFTER: ('10s',),
        extras.ARCHIVE_ATTEMPTS: ('true',),
        extras.KEEP_FAILED: ('1',),
        extras.START_LIMIT: ('1h',),
        extras.RUN_LIMIT: ('2h',),
        extras.WAIT_LIMIT: ('2h',),
        extras.GANG: ('set', 'replicatedJob', 'job', 'stage'),
    }
    rare = (extras.START_LIMIT, extras.RUN_LIMIT, extras.WAIT_LIMIT)
    return {
        extra.key: chance.choice(values)
        for extra, values in choices.items()
        if chance.random() < (0.1 if extra in rare else 0.5)
    }


def _is_in_place(spec: Object) -> bool:
    return (spec.get('failurePolicy') or {}).get('restartStrategy') == 'InPlaceRestart'


def _prepare_in_place(chance: random.Random, spec: Object) -> None:
    """Settings that admission asks for; nobody waits for the success of ranks that wait for those who come later."""
    for part in spec['replicatedJobs']:
        job = part['template']['spec']
        job |= {'backoffLimit': 2**31 - 1, 'podReplacementPolicy': 'Failed', 'completionMode': 'Indexed'}
        for dependency in part.get('dependsOn', ()):
            dependency['status'] = 'Ready'
    spec['failurePolicy']['maxRestarts'] = chance.choice((0, 2, 4, 6))


def jobset(*parts: Object, name: str = 'js', **spec: Any) -> Object:
    """A JobSet with the fields that a test cares about."""
    return {
        'apiVersion': keys.API_VERSION,
        'kind': keys.KIND,
        'metadata': {'name': name},
        'spec': {'replicatedJobs': list(parts), **spec},
    }


def _part(chance: random.Random, name: str, *, depends_on: str) -> Object:
    pod = build.pods(
        parallelism=chance.choice((1, 1, 1, 2, 0)),
        terminationGracePeriodSeconds=chance.choice((0, 0, 30)),
        nodeSelector={'pool': 'first'},
    )
    pod['backoffLimit'] = chance.choice((0, 0, 1))
    fields: Object = {}
    if depends_on and chance.random() < 0.8:
        fields['dependsOn'] = [build.needs(chance.choice(depends_on), chance.choice(('Ready', 'Complete')))]
    return build.part(name, chance.choice((1, 1, 1, 2, 2, 0)), template={'spec': pod}, **fields)


def _failure_policy(chance: random.Random, names: str, gates: features.FeatureGates) -> Object:
    actions: tuple[str, ...] = ('FailJobSet', 'RestartJobSet', 'RestartJobSetAndIgnoreMaxRestarts')
    if gates.restart_job:
        actions = (*actions, 'RestartJob', 'RestartJob', 'RestartJobAndIgnoreMaxRestarts')
    strategies: tuple[str, ...] = ('Recreate', 'BlockingRecreate', 'BlockingRecreate')
    if gates.in_place_restart:
        strategies = (*strategies, 'InPlaceRestart', 'InPlaceRestart', 'InPlaceRestart')
    rules = []
    for position in range(chance.choice((0, 0, 1, 2))):
        rule: Object = {'name': f'r{position}', 'action': chance.choice(actions)}
        if chance.random() < 0.5:
            rule['onJobFailureReasons'] = [chance.choice(REASONS)]
        if chance.random() < 0.5:
            rule['targetReplicatedJobs'] = [chance.choice(names)]
        rules.append(rule)
    return {
        'maxRestarts': chance.choice((0, 1, 2, 3, 3)),
        'restartStrategy': chance.choice(strategies),
        'rules': rules,
    }


def beginning(chance: random.Random, gates: features.FeatureGates) -> list[Fact]:
    """What is there before anything else happens."""
    facts = [create(manifest(chance, gates))]
    if chance.random() < 0.1:
        facts.insert(0, foreign_job('js-a-0'))
    if chance.random() < 0.1:
        facts.insert(0, foreign_service(selector=chance.choice(('js', 'other'))))
    return facts


def create(obj: Object) -> Fact:
    """The user creates a JobSet."""
    return Fact(f'create {obj}', lambda sim: sim.create('jobsets', build.copy(obj)))


def foreign_job(name: str) -> Fact:
    """Somebody has a Job under the name of a child."""
    job: Object = {'metadata': {'name': name}, 'spec': {'suspend': True, 'template': {}}}
    return Fact(f'a foreign Job {name}', lambda sim: sim.create('jobs', build.copy(job)))


def foreign_service(*, selector: str) -> Fact:
    """Somebody has a Service under the name of the set."""
    service: Object = {
        'metadata': {'name': 'js'},
        'spec': {'clusterIP': 'None', 'selector': {keys.JOBSET_NAME: selector}},
    }
    return Fact(f'a foreign Service for {selector}', lambda sim: sim.create('services', build.copy(service)))


def possible(sim: simulation.Simulation, chance: random.Random) -> list[Fact]:
    """What may happen next, given how things are."""
    jobset = sim.server.get('jobsets', 'js')
    if jobset is None:
        return []
    facts = [fact for job in sim.server.view('jobs') for fact in _of_job(jobset, job, chance)]
    suspended = bool(jobset['spec'].get('suspend'))
    if suspended:
        facts += [suspend(to=False), edit_and_resume(f'pool-{chance.randint(0, 9)}')]
    elif not facts or chance.random() < 0.4:
        facts.append(suspend(to=True))
    facts += [fact for pod in sim.server.view('pods') if sim.manner.has_pods for fact in _of_pod(pod, chance)]
    if sim.manner.gates.elastic_jobset and not jobset.get('status', {}).get('terminalState') and chance.random() < 0.2:
        facts.append(scale(chance.randint(1, 3)))
    if chance.random() < 0.1:
        facts.append(delete_jobset(foreground=chance.random() < 0.5))
    if chance.random() < 0.1:
        facts.append(expire())
    facts += [_remove_foreign(plural, obj) for plural in ('jobs', 'services') for obj in _foreign(sim, plural)]
    return facts


def _of_job(jobset: Object, job: Object, chance: random.Random) -> list[Fact]:
    if api.owner_uid(job) is None:
        return []
    name, attempt = job['metadata']['name'], _attempt(job)
    facts = []
    if job['status'].get('startTime') and job['status'].get('active') is not None:
        facts += [finish(name, attempt), fail(name, attempt, chance.choice(REASONS))]
        if chance.random() < 0.1:
            facts.append(kill(name, attempt))
    ended = [c['type'] for c in job['status'].get('conditions', []) if c['status'] == 'True']
    if (
        'Complete' in ended
        and chance.random() < 0.5
        and (jobset['metadata'].get('annotations') or {}).get(extras.DONE_STAYS_DONE.key)
    ):
        facts.append(clear_away(name, attempt))
    return facts


def _of_pod(pod: Object, chance: random.Random) -> list[Fact]:
    metadata, status = pod['metadata'], pod['status']
    if api.owner_uid(pod) is None or status['phase'] != 'Running' or 'deletionTimestamp' in metadata:
        return []
    rank, attempt = kubelets.rank_of(pod), _attempt_of_pod(pod)
    facts = [end_pod(rank, attempt, exit_code=chance.choice((None, 1, 42)))] if chance.random() < 0.3 else []
    if status.get('runs'):
        facts.append(fail_in_place(rank, attempt, exit_code=chance.choice((1, 1, 42))))
    return facts


def fail_in_place(rank: str, attempt: str, *, exit_code: int) -> Fact:
    """A container of a rank ends, and all of its pod start again, if it is running in that attempt."""

    def happen(sim: simulation.Simulation) -> None:
        pod = _running(sim, rank, attempt)
        if pod is not None and pod['status'].get('runs') and sim.environment.pods is not None:
            sim.environment.pods.restart(pod['metadata']['name'], exit_code)

    return Fact(f'{rank} in attempt {attempt} exits with {exit_code}', happen)


def end_pod(rank: str, attempt: str, *, exit_code: int | None) -> Fact:
    """The pod of a rank ends for good, if it is running in that attempt: it exits, or makes room for another one."""

    def happen(sim: simulation.Simulation) -> None:
        pod = _running(sim, rank, attempt)
        if pod is not None and sim.environment.pods is not None:
            sim.environment.pods.fail(pod['metadata']['name'], exit_code=exit_code)

    return Fact(f'the pod {rank} of attempt {attempt} ends with {exit_code}', happen)


def _running(sim: simulation.Simulation, rank: str, attempt: str) -> Object | None:
    for pod in sim.server.view('pods'):
        is_it = kubelets.rank_of(pod) == rank and _attempt_of_pod(pod) == attempt
        if is_it and pod['status']['phase'] == 'Running' and 'deletionTimestamp' not in pod['metadata']:
            return pod
    return None


def _attempt_of_pod(pod: Object) -> str:
    """The attempt of the set, of its Job, and in place."""
    labels = pod['metadata'].get('labels') or {}
    wanted = [labels.get(key, '') for key in (keys.RESTART_ATTEMPT, keys.JOB_RESTART_ATTEMPT)]
    return '.'.join([*wanted, str(pod['status'].get('announced', ''))])


def finish(job: str, attempt: str) -> Fact:
    """A Job of that attempt completes, if it is still running."""
    return Fact(f'{job} of attempt {attempt} completes', lambda sim: _end(sim, job, attempt, 'Complete', ''))


def fail(job: str, attempt: str, reason: str) -> Fact:
    """A Job of that attempt fails, if it is still running."""
    return Fact(f'{job} of attempt {attempt} fails: {reason}', lambda sim: _end(sim, job, attempt, 'Failed', reason))


def _end(sim: simulation.Simulation, job: str, attempt: str, kind: str, reason: str) -> None:
    if _is_of(sim, job, attempt) and _may_end(sim, job):
        sim.finish(job, kind, reason=reason, message='gave up')


def _may_end(sim: simulation.Simulation, job: str) -> bool:
    """What waits at a barrier does not end; pods that run in no attempt in place have none."""
    found, jobset = sim.server.get('jobs', job), sim.server.get('jobsets', 'js')
    if not sim.manner.has_pods or found is None or jobset is None or not _is_in_place(jobset['spec']):
        return True
    mine = kubelets.pods_of(sim.server, found)
    running = [pod for pod in mine if pod['status'].get('runs') and pod['status']['phase'] == 'Running']
    return len(running) == (found['spec'].get('parallelism') or 0)


def kill(job: str, attempt: str) -> Fact:
    """The user deletes a Job of that attempt."""

    def happen(sim: simulation.Simulation) -> None:
        if _is_of(sim, job, attempt):
            sim.checks.forget_success(job)
            sim.delete('jobs', job, foreground=True)

    return Fact(f'the user deletes {job} of attempt {attempt}', happen)


def clear_away(job: str, attempt: str) -> Fact:
    """Somebody deletes a Job of that attempt, if it has succeeded."""

    def happen(sim: simulation.Simulation) -> None:
        found = sim.server.get('jobs', job)
        ended = [c['type'] for c in (found or {}).get('status', {}).get('conditions', [])]
        if _is_of(sim, job, attempt) and 'Complete' in ended:
            sim.delete('jobs', job, foreground=True)

    return Fact(f'{job} of attempt {attempt} is cleared away', happen)


def _is_of(sim: simulation.Simulation, job: str, attempt: str) -> bool:
    found = sim.server.get('jobs', job)
    return found is not None and _attempt(found) == attempt


def _attempt(job: Object) -> str:
    """The attempt of the set, and that of the Job itself where it has one."""
    labels = job['metadata'].get('labels', {})
    return '.'.join(labels[key] for key in (keys.RESTART_ATTEMPT, keys.JOB_RESTART_ATTEMPT) if key in labels)


def suspend(*, to: bool) -> Fact:
    """The user suspends or resumes the set."""

    def happen(sim: simulation.Simulation) -> None:
        if sim.server.get('jobsets', 'js') is not None:
            sim.suspend('js', to=to)

    return Fact('the user suspends' if to else 'the user resumes', happen)


def edit_and_resume(pool: str) -> Fact:
    """A queue admits the set to a pool: the templates change with the resume."""

    def change(jobset: Object) -> None:
        jobset['spec']['suspend'] = False
        for part in jobset['spec']['replicatedJobs']:
            part['template']['spec']['template']['spec']['nodeSelector'] = {'pool': pool, pool: 'yes'}

    def happen(sim: simulation.Simulation) -> None:
        jobset = sim.server.get('jobsets', 'js')
        # Admission lets templates change only while the set is suspended.
        if jobset is not None and jobset['spec'].get('suspend'):
            sim.edit('jobsets', 'js', change)

    return Fact(f'a queue admits to {pool}', happen)


def scale(size: int) -> Fact:
    """The user changes how many pods the Jobs of the first replicated job have; not after the end."""

    def change(jobset: Object) -> None:
        jobset['spec']['replicatedJobs'][0]['template']['spec'].update(parallelism=size, completions=size)

    def happen(sim: simulation.Simulation) -> None:
        jobset = sim.server.get('jobsets', 'js')
        if jobset is not None and not jobset.get('status', {}).get('terminalState'):
            sim.edit('jobsets', 'js', change)

    return Fact(f'the user scales to {size}', happen)


def delete_jobset(*, foreground: bool) -> Fact:
    """The user deletes the set."""

    def happen(sim: simulation.Simulation) -> None:
        if sim.server.get('jobsets', 'js') is not None:
            sim.delete('jobsets', 'js', foreground=foreground)

    return Fact('the user deletes the set', happen)


def expire() -> Fact:
    """Much time passes."""
    return Fact('much time passes', lambda sim: sim.time.advance(sim.time.seconds + 2 * TTL_SECONDS))


def _foreign(sim: simulation.Simulation, plural: str) -> list[Object]:
    return [obj for obj in sim.server.view(plural) if api.owner_uid(obj) is None]


def _remove_foreign(plural: str, obj: Object) -> Fact:
    name = obj['metadata']['name']

    def happen(sim: simulation.Simulation) -> None:
        found = sim.server.get(plural, name)
        if found is not None and api.owner_uid(found) is None:
            sim.delete(plural, name)

    return Fact(f'the foreign {plural}/{name} goes', happen)


def release(sim: simulation.Simulation) -> list[Fact]:
    """Facts after which nothing holds the set up any more."""
    facts = [_remove_foreign(plural, obj) for plural in ('jobs', 'services') for obj in _foreign(sim, plural)]
    jobset = sim.server.get('jobsets', 'js')
    if jobset is not None and jobset['spec'].get('suspend'):
        facts.append(suspend(to=False))
    return facts


def is_over(sim: simulation.Simulation) -> bool:
    """Whether the set has ended, or is gone."""
    jobset = sim.server.get('jobsets', 'js')
    return jobset is None or bool(jobset.get('status', {}).get('terminalState'))


def finish_all(sim: simulation.Simulation) -> None:
    """All Jobs that run complete."""
    for job in sim.server.view('jobs'):
        if api.owner_uid(job) is not None and _may_end(sim, job['metadata']['name']):
            sim.finish(job['metadata']['name'])


def picture(sim: simulation.Simulation) -> Object:
    """How things are, without what differs from one story to the next: times, versions, uids and orders of lists.

    Whether a start in order was ever seen to be in progress depends on how often somebody looked, and so does how far
    it had come when the set was suspended or ended, and whether anybody was ever waited for.
    """
    jobset = sim.server.get('jobsets', 'js')
    status = dict(jobset.get('status', {})) if jobset else {}
    # Whether ranks were told to leave depends on whether anybody looked before all had come.
    status.pop('previousInPlaceRestartAttempt', None)
    history = {('StartupPolicyInProgress', 'False')}
    if status.get('terminalState') or (jobset is not None and jobset['spec'].get('suspend')):
        history = {
            *history,
            *((f'StartupPolicy{kind}', holds) for kind in ('InProgress', 'Completed') for holds in ('True', 'False')),
        }
    conditions = {
        c['type']: (c['status'], c['reason'], _FREE.sub('', _MOMENT.sub('then', c['message'])))
        for c in status.pop('conditions', [])
        if (c['type'], c['status']) not in history and c['type'] not in (inplace.STALLED, waiting.WAITING)
    }
    return {
        'jobset': None if jobset is None else jobset['spec'].get('suspend', False),
        'status': status,
        'conditions': conditions,
        'jobs': {job['metadata']['name']: _job_picture(job) for job in sim.server.view('jobs')},
        **{
            plural: {obj['metadata']['name']: api.owner_uid(obj) is not None for obj in sim.server.view(plural)}
            for plural in ('services', 'persistentvolumeclaims')
        },
        # How many pods a gang waits for matters only while some of them do.
        'groups': [group['metadata']['name'] for group in sim.server.view('podgroups')],
        'pods': sorted(
            f'{kubelets.rank_of(pod)} {_attempt_of_pod(pod)} {pod["status"]["phase"]}'
            for pod in sim.server.view('pods')
            if sim.manner.has_pods and pod['status']['phase'] != 'Succeeded'
        ),
    }


def _job_picture(job: Object) -> Object:
    metadata, spec, status = job['metadata'], job['spec'], job['status']
    ended = [c['type'] for c in status.get('conditions', []) if c['type'] in ('Complete', 'Failed')]
    return {
        'attempt': _attempt(job),
        'size': None if ended else spec.get('parallelism'),
        'ours': api.owner_uid(job) is not None,
        'suspend': None if ended else spec.get('suspend'),
        'going': 'deletionTimestamp' in metadata,
        'ended': ended,
        'active': status.get('active'),
        'ready': status.get('ready'),
        'nodes': (spec['template'].get('spec') or {}).get('nodeSelector'),
    }
