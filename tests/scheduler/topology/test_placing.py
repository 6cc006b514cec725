"""Whole gangs: in order, biggest first if need be, nothing by halves; and nodes to stay away from."""

import msgspec

from jobset.scheduler.topology import nodes, placing, requests, results, single, tree
from jobset.scheduler.topology.requests import Profile
from jobset.scheduler.topology.single import Settings
from tests.scheduler.topology import build


def named(name: str, wanted: requests.Request) -> requests.Request:
    return msgspec.structs.replace(wanted, name=name)


def test_each_sees_what_those_before_it_took() -> None:
    where = build.topology('[4] [5]')
    placer = placing.Placer(where)
    gang = [named('a', build.request(4, 'required', 'rack')), named('b', build.request(4, 'required', 'rack'))]
    before = where.free.copy()

    answer = placer.place(gang)

    assert isinstance(answer, results.Placement)
    assert [assignment.pods for assignment in answer.assignments] == [{('00', '00'): 4}, {('01', '00'): 4}]
    assert (where.free == before).all()
    placer.take(gang, answer)
    assert where.free[0, where.order].tolist() == [0, 1]
    placer.give_back(gang, answer)
    assert (where.free == before).all()


def test_nothing_is_taken_by_a_gang_that_does_not_fit() -> None:
    where = build.topology('[4] [5]')
    before = where.free.copy()
    gang = [named(name, build.request(4, 'required', 'rack')) for name in 'abc']

    answer = placing.Placer(where).place(gang)

    assert isinstance(answer, results.NoRoom)
    assert answer.name == 'c'
    assert (where.free == before).all()


def test_the_biggest_goes_first_where_the_order_does_not_work_out() -> None:
    """The two small pods would scatter over both racks and leave neither whole."""
    gang = [named('small', build.request(4, 'preferred', 'host')), named('big', build.request(6, 'required', 'rack'))]
    placer = placing.Placer(build.topology('[3 3] [4 1]'))
    stuck = [gang[0], named('big', build.request(5, 'required', 'rack', units=1))]
    tight = placing.Placer(build.topology('[4 1] [4]'))

    assert isinstance(placer.place(gang), results.Placement)
    assert isinstance(tight.place(stuck, Settings(parity=True)), results.NoRoom)
    answer = tight.place(stuck)
    assert isinstance(answer, results.Placement)
    assert [assignment.name for assignment in answer.assignments] == ['small', 'big']
    assert [assignment.pods for assignment in answer.assignments] == [
        {('01', '00'): 4},
        {('00', '00'): 4, ('00', '01'): 1},
    ]


def test_one_bad_request_refuses_the_gang_with_all_its_problems() -> None:
    gang = [named('a', build.request(4, 'required', 'row')), named('b', build.request(0, 'unconstrained'))]

    answer = placing.Placer(build.topology('[4] [5]')).place(gang)

    assert isinstance(answer, results.Invalid)
    assert [problem.path for problem in answer.problems] == ['a.level', 'b.count']


def test_bad_nodes_are_used_last_and_only_where_nothing_else_fits() -> None:
    placer = placing.Placer(build.topology('[1 4 2 4]'))
    avoid = Settings(profile=Profile.BESTFIT_ONLY, avoid={'00': 1, '02': 5})

    def pods(count: int) -> dict[tuple[str, ...], int]:
        answer = placer.place([build.request(count, 'unconstrained')], avoid)
        assert isinstance(answer, results.Placement)
        return answer.assignments[0].pods

    assert pods(1) == {('01',): 1}
    assert pods(8) == {('01',): 4, ('03',): 4}
    assert pods(9) == {('00',): 1, ('01',): 4, ('03',): 4}
    assert pods(10) == {('00',): 1, ('01',): 4, ('02',): 1, ('03',): 4}
    assert isinstance(placer.place([build.request(12, 'unconstrained')], avoid), results.NoRoom)


def test_a_rack_with_a_bad_node_is_better_than_no_rack() -> None:
    placer = placing.Placer(build.topology('[4 4] [3 3]'))

    answer = placer.place([build.request(7, 'required', 'rack')], Settings(avoid={'00-00': 3}))

    assert isinstance(answer, results.Placement)
    assert answer.assignments[0].pods == {('00', '00'): 3, ('00', '01'): 4}


def test_excluded_nodes_are_never_used() -> None:
    placer = placing.Placer(build.topology('[4 4]'))
    settings = Settings(exclude=frozenset({'00'}))

    assert build.text_of(placer.place([build.request(5, 'unconstrained')], settings)) == (
        'allows to fit only 4 out of 5 pod(s). Total nodes: 2; excluded: excludedNode: 1'
    )


def test_clusters_are_the_top_level() -> None:
    levels = ('cluster', 'rack', nodes.HOSTNAME)
    found = [
        msgspec.structs.replace(build.host((cluster, 'r1', host), 2, levels), name=f'{cluster}/{host}')
        for cluster in ('east', 'west')
        for host in ('n1', 'n2')
    ]
    placer = placing.Placer(tree.Tree.of(found, levels, ('u',)))
    gang = [named(name, build.request(4, 'required', 'cluster')) for name in ('a', 'b')]

    answer = placer.place(gang)

    assert isinstance(answer, results.Placement)
    assert [{leaf[0] for leaf in assignment.pods} for assignment in answer.assignments] == [{'east'}, {'west'}]
    assert isinstance(placer.place([build.request(5, 'required', 'cluster')], single.DEFAULT), results.NoRoom)


def test_what_could_fit_if_all_others_were_gone() -> None:
    where = build.topology('[4 4]')
    where.take({('00',): 4}, {'u': 1})
    wanted = [build.request(8, 'unconstrained')]

    assert isinstance(placing.Placer(where).place(wanted), results.NoRoom)
    assert isinstance(placing.Placer(where.emptied()).place(wanted), results.Placement)
