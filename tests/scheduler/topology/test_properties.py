"""What holds for every placement, and for every history of a tree."""

import random
from collections import Counter
from dataclasses import dataclass

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from jobset.scheduler.topology import nodes, placing, requests, results, tree
from jobset.scheduler.topology.requests import Layer, Mode, Profile
from jobset.scheduler.topology.single import Settings
from tests.scheduler.topology import build

CASES = settings(max_examples=150, deadline=None)


@dataclass(frozen=True)
class Case:
    """Hosts and what is asked of them."""

    levels: tuple[str, ...]
    hosts: tuple[nodes.Node, ...]
    request: requests.Request
    profile: Profile

    @property
    def free(self) -> dict[tuple[str, ...], int]:
        return {tuple(host.labels[level] for level in self.levels): host.allocatable['u'] for host in self.hosts}

    def tree(self) -> tree.Tree:
        return tree.Tree.of(self.hosts, self.levels, ('u',), by_node=True)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    depth = draw(st.integers(1, 4))
    levels = build.levels(depth)
    paths: list[tuple[str, ...]] = [()]
    for _ in levels:
        paths = [(*path, f'{i:02}') for path in paths for i in range(draw(st.integers(1, 3 if depth < 4 else 2)))]
    hosts = tuple(build.host(path, draw(st.integers(0, 6)), levels) for path in paths)
    mode = draw(st.sampled_from(list(Mode)))
    level = draw(st.integers(0, depth - 1)) if mode in {Mode.REQUIRED, Mode.PREFERRED} else None
    layers = draw(_layers(levels, level or 0)) if mode is not Mode.SLICE_ONLY else draw(_layers(levels, 0, least=1))
    size = layers[0].size if layers else 1
    return Case(
        levels,
        hosts,
        requests.Request(
            name='w',
            count=size * draw(st.integers(1, 12)),
            pod=build.pod(),
            mode=mode,
            level=None if level is None else levels[level],
            slices=layers,
            leader=draw(st.none() | st.integers(0, 4).map(build.pod)),
        ),
        draw(st.sampled_from(list(Profile))),
    )


@st.composite
def _layers(draw: st.DrawFn, levels: tuple[str, ...], first: int, least: int = 0) -> tuple[Layer, ...]:
    at = sorted(draw(st.sets(st.integers(first, len(levels) - 1), min_size=least, max_size=3)), reverse=True)
    size, layers = 1, []
    for i in at:
        size *= draw(st.integers(1, 3))
        layers.append(Layer(levels[i], size))
    return tuple(reversed(layers))


def _place(case: Case, where: tree.Tree) -> results.Assignment | results.NoRoom:
    answer = placing.Placer(where).place([case.request], Settings(profile=case.profile))
    assert not isinstance(answer, results.Invalid), answer.text
    return answer.assignments[0] if isinstance(answer, results.Placement) else answer


@CASES
@given(case=cases())
def test_every_success_keeps_what_was_asked(case: Case) -> None:
    answer = _place(case, case.tree())
    if isinstance(answer, results.Assignment):
        _check(case, answer)


def _check(case: Case, answer: results.Assignment) -> None:
    request, free = case.request, case.free
    used = Counter(answer.pods)
    assert (answer.leader is None) == (request.leader is None)
    if request.leader is not None and answer.leader is not None:
        used[answer.leader] += request.leader.amounts['u']
    assert answer.count == request.count
    assert list(answer.pods) == sorted(answer.pods)
    assert all(pods > 0 for pods in answer.pods.values())
    assert all(units <= free[leaf] for leaf, units in used.items())
    if request.mode is Mode.REQUIRED and request.level is not None:
        depth = case.levels.index(request.level) + 1
        assert len({leaf[:depth] for leaf in [*answer.pods, answer.leader] if leaf is not None}) == 1
    for layer in request.slices:
        depth = case.levels.index(layer.level) + 1
        domains: Counter[tuple[str, ...]] = Counter()
        for leaf, pods in answer.pods.items():
            domains[leaf[:depth]] += pods
        assert all(pods % layer.size == 0 for pods in domains.values())


@CASES
@given(case=cases(), random=st.randoms(use_true_random=False), is_deleted=st.booleans())
def test_replacing_keeps_what_was_asked_and_who_is_healthy(case: Case, random: random.Random, is_deleted: bool) -> None:
    where, before = _running(case)
    if before is None:
        return
    used = sorted({*before.pods, *([before.leader] if before.leader else [])})
    lost = random.sample(used, random.randint(1, len(used)))
    placer = placing.Placer(where)
    if is_deleted:
        for leaf in lost:
            where.remove_node('-'.join(leaf))
    held = _facts(where)

    after = placer.replace(case.request, before, lost, Settings(profile=case.profile))

    assert _facts(where) == held
    if isinstance(after, results.Assignment):
        _check(case, after)
        assert not {*after.pods, after.leader} & set(lost)
        assert all(after.pods[leaf] >= pods for leaf, pods in before.pods.items() if leaf not in lost)
        assert after.leader == before.leader or before.leader in lost


@CASES
@given(case=cases(), factor=st.integers(1, 4))
def test_resizing_keeps_what_was_asked_and_who_runs(case: Case, factor: int) -> None:
    where, before = _running(case)
    if before is None:
        return
    size = case.request.slice_size
    wanted = msgspec.structs.replace(case.request, count=size * max(1, case.request.count // size * factor // 2))
    held = _facts(where)

    after = placing.Placer(where).resize(wanted, before, Settings(profile=case.profile))

    assert _facts(where) == held
    if isinstance(after, results.Assignment):
        _check(Case(case.levels, case.hosts, wanted, case.profile), after)
        less, more = sorted((before, after), key=lambda one: one.count)
        assert all(more.pods[leaf] >= pods for leaf, pods in less.pods.items())
    else:
        assert wanted.count > before.count


def _running(case: Case) -> tuple[tree.Tree, results.Assignment | None]:
    where = case.tree()
    answer = _place(case, where)
    if isinstance(answer, results.NoRoom):
        return where, None
    placing.Placer(where).take([case.request], results.Placement((answer,)))
    return where, answer


@CASES
@given(case=cases())
def test_every_place_there_is_is_found(case: Case) -> None:
    request, free = case.request, case.free
    depth = case.levels.index(request.level) + 1 if request.mode is Mode.REQUIRED and request.level else 0
    if request.leader is None:
        possible = any(_room(case, free, root) >= request.count for root in {leaf[:depth] for leaf in free})
    else:
        units = request.leader.amounts['u']
        possible = any(
            _room(case, free | {leaf: free[leaf] - units}, leaf[:depth]) >= request.count
            for leaf in free
            if free[leaf] >= max(units, 0)
        )

    assert isinstance(_place(case, case.tree()), results.Assignment) == possible


def _room(case: Case, free: dict[tuple[str, ...], int], domain: tuple[str, ...]) -> int:
    """Pods that fit in a domain in whole slices, by the definition."""
    if len(domain) == len(case.levels):
        pods = free[domain]
    else:
        children = {leaf[: len(domain) + 1] for leaf in free if leaf[: len(domain)] == domain}
        pods = sum(_room(case, free, child) for child in children)
    sizes = [layer.size for layer in case.request.slices if case.levels.index(layer.level) + 1 == len(domain)]
    return pods // sizes[0] * sizes[0] if sizes else pods


@CASES
@given(case=cases(), seed=st.integers(0, 1 << 30))
def test_the_order_of_nodes_does_not_matter(case: Case, seed: int) -> None:
    shuffled = list(case.hosts)
    random.Random(seed).shuffle(shuffled)
    one_by_one = tree.Tree(case.levels, ('u',), by_node=True)
    for host in shuffled:
        one_by_one.set_node(host)

    assert _place(case, one_by_one) == _place(case, case.tree())


@CASES
@given(case=cases())
def test_what_was_taken_and_given_back_leaves_no_trace(case: Case) -> None:
    where = case.tree()
    placer = placing.Placer(where)
    gang = [case.request]
    first = placer.place(gang, Settings(profile=case.profile))
    if not isinstance(first, results.Placement):
        return

    placer.take(gang, first)
    again = placer.place(gang, Settings(profile=case.profile))
    placer.give_back(gang, first)

    assert placer.place(gang, Settings(profile=case.profile)) == first
    assert _facts(where) == _facts(case.tree())
    both = placing.Placer(case.tree()).place([*gang, *gang], Settings(profile=case.profile))
    if isinstance(again, results.Placement):
        assert both == results.Placement((*first.assignments, *again.assignments))


def _facts(where: tree.Tree) -> object:
    """All that a tree says, without its slots."""
    free = {values: where.free[:, slot].tolist() for values, slot in zip(where.names[-1], where.order, strict=True)}
    held = {values: where.held(values) for values in where.names[-1]}
    return where.names, [starts.tolist() for starts in where.starts], free, held, where.outside


NAMES = [f'n{i}' for i in range(8)]


@st.composite
def changes(draw: st.DrawFn) -> list[tuple[str, nodes.Node | str]]:
    """Nodes that come, change and go, and pods that come to them."""
    found: list[tuple[str, nodes.Node | str]] = []
    for name in draw(st.lists(st.sampled_from(NAMES), max_size=25)):
        if draw(st.integers(0, 3)) == 0:
            found.append(('remove', name))
            continue
        labels = {'rack': draw(st.sampled_from('ab')), 'block': draw(st.sampled_from('xy')), 'host': name}
        taints = (nodes.Taint(key='t'),) if draw(st.booleans()) else ()
        amounts = {'u': draw(st.integers(0, 5)), 'v': draw(st.integers(0, 5))}
        ready = draw(st.integers(0, 5)) > 0
        found.append(('set', nodes.Node(name=name, labels=labels, allocatable=amounts, taints=taints, is_ready=ready)))
    return found


@CASES
@given(history=changes(), by_node=st.booleans())
def test_small_changes_come_to_the_same_as_a_new_start(
    history: list[tuple[str, nodes.Node | str]], by_node: bool
) -> None:
    levels = ('block', 'rack', 'host') if by_node else ('block', 'rack')
    where = tree.Tree((*levels,), ('u', 'v'), by_node=by_node)
    placer = placing.Placer(where)
    gangs = [
        [requests.Request(name='w', count=3, pod=requests.PodShape(amounts={'u': 1, 'v': 1}, tolerations=tolerations))]
        for tolerations in ((), (nodes.Toleration(operator='Exists'),))
    ]
    known: dict[str, nodes.Node] = {}
    pods: Counter[tuple[str, ...]] = Counter()
    for step, (what, subject) in enumerate(history):
        if isinstance(subject, str):
            where.remove_node(subject)
            known.pop(subject, None)
        else:
            where.set_node(subject)
            known[subject.name] = subject
        if where.names[-1] and step % 3 == 0:
            leaf = where.names[-1][step % len(where.names[-1])]
            where.take({leaf: 2}, {'u': 1})
            pods[leaf] += 2
        fresh = tree.Tree.of(known.values(), levels, ('u', 'v'), by_node=by_node)
        fresh.take(pods, {'u': 1})
        assert what in {'set', 'remove'}
        assert _facts(where) == _facts(fresh)
        assert [placer.place(gang) for gang in gangs] == [placing.Placer(fresh).place(gang) for gang in gangs]
