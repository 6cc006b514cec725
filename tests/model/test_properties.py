"""Rules that hold for whole kinds of faults, whatever happens: F2 to F5, F7, F10 and F17 of the users' reports.

What is generated here is small and of one kind, so that each rule is met often; :mod:`tests.model.test_model` mixes
all. The rule for F10 is played in :mod:`tests.core.test_placement_races`, and that for F7 once more with a scheduler in
:mod:`tests.core.groups.test_any_order`.
"""

import random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobset.api import features, keys
from jobset.core import archive, plan
from tests.core import build
from tests.model import api, invariants, kubelets, scenarios, simulation, wire
from tests.model.engine import add_pod, annotated, exited, preempted, told
from tests.model.scenarios import jobset

Object = dict[str, Any]
SINGLY = features.FeatureGates(restart_job=True, in_place_restart=True)
SEEDS = st.integers(0, 10**6)


def troubled(seed: int, *, has_pods: bool = True) -> simulation.Simulation:
    """A cluster in which requests fail and the controller dies."""
    chance = random.Random(seed)
    level = chance.choice((0, 0.05, 0.2))
    return simulation.Simulation(
        seed,
        simulation.Manner(
            is_calm=False,
            has_pods=has_pods,
            has_groups=has_pods,
            gates=SINGLY,
            relist=chance.choice((0, 0.2)),
            trouble=wire.Trouble(crash=level, refused=level, lost=level, budget=12),
        ),
    )


def in_place(name: str, pods: int) -> Object:
    settings_ = {'backoffLimit': 2**31 - 1, 'podReplacementPolicy': 'Failed', 'completionMode': 'Indexed'}
    return build.part(name, template={'spec': build.pods(parallelism=pods) | settings_})


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.sampled_from(['BlockingRecreate', 'fenced', 'InPlaceRestart', 'single']))
def test_F2_attempts_are_disjoint_in_time(seed: int, strictness: str) -> None:
    """Pods fail, Jobs fail, the user suspends: no pod of an attempt ever runs beside one of another.

    The cluster itself checks it with every change of a pod; here it is made to happen, and counted.
    """
    sim, chance = troubled(seed), random.Random(seed)
    action = 'RestartJobAndIgnoreMaxRestarts' if strictness == 'single' else 'RestartJobSetAndIgnoreMaxRestarts'
    strategy = strictness if strictness.endswith(('Recreate', 'Restart')) else 'Recreate'
    policy = {'maxRestarts': 99, 'restartStrategy': strategy, 'rules': [{'name': 'r', 'action': action}]}
    slow = {'terminationGracePeriodSeconds': chance.choice((0, 30))}
    parts = [in_place('a', 2), in_place('b', 1)]
    for part in parts:
        job = part['template']['spec']
        job['template']['spec'] = job['template']['spec'] | slow
        if strictness != 'InPlaceRestart':
            job['backoffLimit'] = 0
    sent = jobset(*parts, failurePolicy=policy)
    attempts: set[str] = set()

    def watch(change: api.Change) -> None:
        if change.name.plural == 'pods' and not change.is_deletion:
            pod = msgspec.json.decode(change.raw)
            if pod['status']['phase'] == 'Running' and keys.JOBSET_UID in pod['metadata']['labels']:
                labels, rank = pod['metadata']['labels'], pod['status'].get('announced', '')
                attempts.add(f'{invariants._attempt(labels)}.{rank}')

    async def story() -> None:
        sim.server.watchers.append(watch)
        sim.create('jobsets', annotated(sent, fence_after='10s') if strictness == 'fenced' else sent)
        await sim.settle()
        for _ in range(4):
            facts = [f for f in scenarios.possible(sim, chance) if 'delete' not in f.what and 'completes' not in f.what]
            if facts:
                chance.choice(facts).happen(sim)
            for _ in range(chance.choice((1, 5, 30))):
                await sim.step()
        for fact in scenarios.release(sim):
            fact.happen(sim)
        await sim.advance(120)

    sim.run(story())
    assert attempts


@pytest.mark.parametrize('why', ['restart', 'single', 'suspension', 'deletion', 'end'])
@settings(max_examples=15, deadline=None)
@given(
    node=st.sampled_from(['', 'True', 'Unknown', 'False', 'taint', 'out-of-service']),
    phase=st.sampled_from(['Running', 'Pending', 'Failed', 'Succeeded']),
    foreign=st.sets(st.sampled_from(['example.com/theirs', 'example.com/ours'])),
)
def test_F3_every_wait_has_a_bound_or_somebody_is_named(why: str, node: str, phase: str, foreign: set[str]) -> None:
    """A pod that was told to go is gone a minute after its time, or the condition says who holds it, and why."""
    sim = simulation.Simulation(manner=simulation.Manner(gates=SINGLY))
    rules = [{'name': 'r', 'action': 'RestartJob'}] if why == 'single' else []
    sent = jobset(
        build.part('l'), build.part('w'), failurePolicy={'maxRestarts': 0 if why == 'end' else 9, 'rules': rules}
    )

    async def story() -> None:
        sim.create('jobsets', annotated(sent, fence_after='1m', fence_finalizers='example.com/ours'))
        await sim.settle()
        if node:
            taints = {'taint': 'node.kubernetes.io/unreachable', 'out-of-service': 'node.kubernetes.io/out-of-service'}
            spec = {'taints': [{'key': taints[node]}] if node in taints else []}
            ready = [{'type': 'Ready', 'status': 'True' if node in taints else node}]
            sim.create('nodes', {'metadata': {'name': 'n1'}, 'spec': spec, 'status': {'conditions': ready}})
        add_pod(sim, 'js-l-0', 'stuck', phase=phase)
        sim.edit('pods', 'stuck', lambda pod: pod['metadata'].update(finalizers=sorted(foreign)))
        match why:
            case 'suspension':
                sim.suspend('js', to=True)
                sim.server.delete('pods', 'stuck', {})
                if sim.server.get('pods', 'stuck') is not None:
                    sim.edit('jobs', 'js-l-0', lambda job: job['status'].update(terminating=1))
            case 'deletion':
                sim.delete('jobsets', 'js', foreground=True)
            case 'single':
                sim.fail('js-l-0')
            case _:
                sim.fail('js-w-0')
        await sim.advance(1)
        await sim.advance(185)

    sim.run(story())
    found = sim.server.get('pods', 'stuck')
    cannot_run = phase in ('Failed', 'Succeeded') or node not in ('True', 'False')
    is_held = 'example.com/theirs' in foreign
    assert (found is None) is (cannot_run and not is_held)
    if found is not None and why != 'deletion':
        status, reason, message = told(sim, 'EndingBlocked')
        assert (status, reason) == ('True', 'ForeignFinalizers' if cannot_run else 'NodeKeepsPod')
        assert 'pod stuck' in message
        assert ('example.com/theirs' if cannot_run else 'n1') in message
    if found is not None and not cannot_run and why in ('restart', 'single'):
        # It may still run: nothing of the next attempt is there.
        assert [name for _, name, _ in sim.checks.made].count('js-l-0') == 1


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.booleans())
def test_F4_the_end_is_for_ever_and_nothing_begins_after_it(seed: int, fails: bool) -> None:
    """Whatever the user, others and the controller's deaths do after the end."""
    sim, chance = troubled(seed), random.Random(seed)
    sent = jobset(build.part('a', 2), build.part('b'), failurePolicy={'maxRestarts': 0})

    async def story() -> None:
        sim.create('jobsets', annotated(sent, done_stays_done=chance.choice(('true', 'false'))))
        await sim.settle()
        for job in ('js-a-0', 'js-a-1', 'js-b-0'):
            sim.fail(job) if fails else sim.finish(job)
        await sim.settle()
        assert sim.jobset()['status']['terminalState'] == ('Failed' if fails else 'Completed')
        made, ended = list(sim.checks.made), sim.jobset()['status']
        for _ in range(5):
            sim.checks.forget_success('js-a-0')
            for found in sim.server.view('jobs'):
                if chance.random() < 0.3:
                    sim.delete('jobs', found['metadata']['name'], foreground=True)
            sim.suspend('js', to=chance.random() < 0.5)
            if chance.random() < 0.3:
                sim.restart()
            await sim.advance(chance.choice((0, 5, 600)))
        assert sim.checks.made == made
        after = sim.jobset()['status']
        assert [after[key] for key in ('restarts', 'terminalState')] == [ended['restarts'], ended['terminalState']]

    sim.run(story())


_FAILURES = st.lists(
    st.tuples(st.sampled_from(['js-a-0', 'js-b-0', 'js-b-1']), st.sampled_from([None, 1, 42])), min_size=1, max_size=8
)
_LIMITS = st.fixed_dictionaries(
    {},
    optional={
        'disruption': st.sampled_from(['free', '1', '2']),
        'application': st.sampled_from(['0', '1', '3']),
        'exit-42': st.sampled_from(['free', '0', '2']),
        'b/any': st.sampled_from(['free', '2']),
    },
)


@settings(max_examples=60, deadline=None)
@given(SEEDS, _FAILURES, _LIMITS, st.integers(0, 3), st.sampled_from(['RestartJobSet', 'RestartJob']))
def test_F5_each_failure_is_charged_once_to_the_entry_that_names_it(
    seed: int, failures: list[tuple[str, int | None]], limits: dict[str, str], most: int, action: str
) -> None:
    """By a count of our own over the same failures; suspensions come between, and cost nothing."""
    sim, chance = troubled(seed, has_pods=False), random.Random(seed)
    policy = {'maxRestarts': most, 'rules': [{'name': 'r', 'action': action}]}
    sent = jobset(build.part('a'), build.part('b', 2), failurePolicy=policy)
    if limits:
        annotated(sent, restart_budgets=', '.join(f'{key}={value}' for key, value in limits.items()))
    charged: dict[str, int] = {}
    ended = ''
    for job, code in failures:
        kinds = ['disruption', 'any'] if code is None else [f'exit-{code}', 'application', 'any']
        names = [*(f'{job[3]}/{kind}' for kind in kinds), *kinds]
        key = next((name for name in names if name in limits), '')
        limit = limits.get(key, str(most))
        if limit != 'free' and charged.get(key, 0) >= int(limit):
            ended = 'RestartBudgetExhausted' if key else 'ReachedMaxRestarts'
            break
        charged[key] = charged.get(key, 0) + 1

    async def story() -> None:
        sim.create('jobsets', sent)
        await sim.settle()
        for number, (job, code) in enumerate(failures):
            if sim.condition('Failed') is not None:
                break
            if chance.random() < 0.3:
                sim.suspend('js', to=True)
                await sim.advance(2)
                sim.suspend('js', to=False)
            await sim.advance(2)
            add_pod(sim, job, f'p{number}', **(preempted() if code is None else exited(code)))
            sim.fail(job)
            await sim.settle()

    sim.run(story())
    status = sim.jobset()['status']
    conditions = {c['type']: c for c in status.get('conditions', [])}
    singly = sum(sum(entry.get('jobRestarts', [])) for entry in status['replicatedJobsStatus'])
    counted = sum(sum(entry.get('jobRestartsCountTowardsMax', [])) for entry in status['replicatedJobsStatus'])
    spent = ', '.join(f'{key}={count}' for key, count in sorted(charged.items()) if key)
    assert conditions.get('Failed', {}).get('reason', '') == ended
    assert conditions.get('RestartsCharged', {}).get('message', '') == spent
    assert status['restarts'] + singly == sum(charged.values())
    assert status.get('restartsCountTowardsMax', 0) + counted == charged.get('', 0)


@settings(max_examples=40, deadline=None)
@given(
    SEEDS,
    st.sampled_from(['set', 'replicatedJob', 'job', 'stage']),
    st.sampled_from(['', 'InOrder', 'Ready', 'Complete']),
)
def test_F7_what_waits_for_its_turn_is_not_waited_for_by_its_gang(seed: int, shape: str, order: str) -> None:
    """Pods get their nodes only as whole gangs; whatever starts late, every set comes to its end."""
    sim, chance = troubled(seed), random.Random(seed)
    parts = [
        build.part(name, chance.choice((1, 2)), template={'spec': build.pods(parallelism=chance.choice((1, 2, 3)))})
        for name in 'abc'
    ]
    spec: Object = {'failurePolicy': {'maxRestarts': 2}}
    if order == 'InOrder':
        spec['startupPolicy'] = {'startupPolicyOrder': order}
    elif order:
        for part, before in zip(parts[1:], 'ab', strict=False):
            part['dependsOn'] = [build.needs(before, order)]

    async def story() -> None:
        sim.create('jobsets', annotated(jobset(*parts, **spec), gang=shape))
        await sim.settle()
        if chance.random() < 0.5:
            running = [job['metadata']['name'] for job in sim.server.view('jobs') if job['status'].get('ready')]
            sim.fail(chance.choice(running))
        if chance.random() < 0.3:
            sim.suspend('js', to=True)
            await sim.advance(5)
            sim.suspend('js', to=False)
        for _ in range(8):
            await sim.advance(61)
            if scenarios.is_over(sim):
                break
            waiting = [
                pod['metadata']['name'] for pod in sim.server.view('pods') if pod['status']['phase'] == 'Pending'
            ]
            assert waiting == [], f'{waiting} wait for pods that cannot come'
            scenarios.finish_all(sim)

    sim.run(story())
    assert sim.jobset()['status']['terminalState'] == 'Completed'
    assert [group['metadata']['name'] for group in sim.server.view('podgroups')] == []


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.lists(st.sampled_from(['set', 'single', 'in place', 'pod']), min_size=1, max_size=6))
def test_F17_every_attempt_that_ended_has_its_entry(seed: int, ends: list[str]) -> None:
    """Attempts of the set, of single Jobs and in place: none is lost, none is told twice."""
    sim = troubled(seed)
    rules = [{'name': 'one', 'action': 'RestartJob', 'targetReplicatedJobs': ['a']}]
    policy = {'maxRestarts': 99, 'restartStrategy': 'InPlaceRestart', 'rules': rules}
    sent = jobset(in_place('a', 1), in_place('b', 2), failurePolicy=policy)
    expected: list[str] = []

    async def story() -> None:
        sim.create('jobsets', annotated(sent, archive_attempts='true'))
        await sim.settle()
        pods = sim.environment.pods
        assert pods is not None
        for end in ends:
            status = sim.jobset()['status']
            restarts, attempt = status['restarts'], status['currentInPlaceRestartAttempt']
            entry = next(entry for entry in status['replicatedJobsStatus'] if entry['name'] == 'a')
            name = next(
                pod['metadata']['name']
                for pod in sim.server.view('pods')
                if kubelets.rank_of(pod) == 'js-b-0-1' and pod['status']['phase'] == 'Running'
            )
            match end:
                case 'set':
                    sim.fail('js-b-0')
                    expected.append(f'{restarts}')
                case 'single':
                    sim.fail('js-a-0')
                    expected.append(f'{restarts}.js-a-0.{sum(entry.get("jobRestarts", []))}')
                case 'in place':
                    pods.restart(name, 7)
                    expected.append(f'{restarts}.in-place.{attempt}')
                case _:
                    pods.fail(name)
                    expected.append(f'{restarts}.in-place.{attempt}')
            await sim.advance(61)

    sim.run(story())
    found = sim.server.get('configmaps', 'js-attempts')
    assert found is not None
    assert sorted(found['data']) == sorted(expected)
    causes = {key: msgspec.json.decode(text).get('cause') for key, text in found['data'].items()}
    known = {'in place': 'application', 'pod': 'disruption'}
    assert {causes[key] for key, end in zip(expected, ends, strict=True) if end in known} == {
        known[end] for end in ends if end in known
    }


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5), st.integers(0, 9_000)), max_size=60))
def test_F17_the_archive_is_bounded_and_the_oldest_entries_go_first(ended: list[tuple[int, int, int]]) -> None:
    data: dict[str, str] = {}
    in_order = sorted({(attempt, own): size for attempt, own, size in ended}.items())
    for second, ((attempt, own), size) in enumerate(in_order):
        entry = plan.AttemptRecord(
            attempt=attempt,
            job='js-w-1',
            own_attempt=own or None,
            ended_at=build.stamp(second),
            reason='r',
            last_lines='x' * size,
        )
        data = archive.added(data, entry)

    assert sum(len(key) + len(text.encode()) for key, text in data.items()) <= archive.MOST_BYTES
    by_age = sorted(in_order, key=lambda entry: (entry[0][0], entry[0][1] == 0, in_order.index(entry)))
    keys_by_age = [f'{attempt}.js-w-1.{own}' if own else f'{attempt}' for (attempt, own), _ in by_age]
    assert list(data) == keys_by_age[len(keys_by_age) - len(data) :]
