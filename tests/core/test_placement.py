"""Who leads, who follows, and who is in the wrong place."""

from collections.abc import Mapping

import msgspec
import pytest

from jobset.api import keys
from jobset.api.pods import Pod
from jobset.core import placement
from tests.core.placing import UNSCHEDULABLE, manifest, pod

NAME = placement.LeaderName('ns', 'js-a-0-0')
FOLLOWER = pod('js-a-0-1-new', index=1)
LEADER = pod('js-a-0-0-abcde', node='n1')
NODES: Mapping[str, Mapping[str, str]] = {'n1': {'rack': 'r1'}, 'n2': {'rack': 'r2'}, 'bare': {}}


def test_a_follower_knows_the_name_of_its_leader() -> None:
    assert placement.wanted_by(FOLLOWER, 'ns') == NAME == placement.name_of(LEADER)


@pytest.mark.parametrize('label', [keys.JOBSET_NAME, keys.REPLICATED_JOB_NAME, keys.JOB_INDEX])
def test_a_follower_without_a_label_names_it(label: str) -> None:
    with pytest.raises(placement.MissingLabelError, match=f'^pod missing label: {label}$'):
        placement.wanted_by(pod('js-a-0-1-new', index=1, drop=(label,)), 'ns')


def lacks(count: int) -> str:
    return f'expected 1 leader pod (js-a-0-0), but got {count}. this is an expected, transient error'


@pytest.mark.parametrize(
    ('candidates', 'found'),
    [
        pytest.param([LEADER], LEADER, id='the leader'),
        pytest.param([], placement.NoLeader(lacks(0)), id='none'),
        pytest.param([pod('js-a-0-0-old', ending=True), LEADER], LEADER, id='one that is ending is none'),
        pytest.param([pod('js-a-0-0-old', phase='Failed'), LEADER], LEADER, id='one that has failed is none'),
        pytest.param([pod('js-a-0-0-old', phase='Succeeded')], placement.NoLeader(lacks(0)), id='one that is done'),
        pytest.param([pod('js-a-0-0-x', topology=None)], placement.NoLeader(lacks(0)), id='one without placement'),
        pytest.param([pod('js-a-0-0-x'), LEADER], placement.NoLeader(lacks(2)), id='two of the same Job'),
        pytest.param([pod('js-a-0-0-x', owner='job-0'), LEADER], LEADER, id='one of another Job is not in the way'),
        pytest.param(
            [pod('js-a-0-0-x', owner='job-0')],
            placement.NoLeader('follower pod owner UID (job-1) != leader pod owner UID (job-0)'),
            id='only one of another Job',
        ),
        pytest.param(
            [pod('js-a-0-0-x', owner=None)],
            placement.NoLeader('leader pod "js-a-0-0-x" has no owner reference'),
            id='one that nobody owns',
        ),
    ],
)
def test_leader(candidates: list[Pod], found: Pod | placement.NoLeader) -> None:
    assert placement.leader_of(FOLLOWER, NAME, candidates) == found


def test_a_follower_that_nobody_owns_has_no_leader() -> None:
    orphan = pod('js-a-0-1-new', index=1, owner=None)
    expected = placement.NoLeader('follower pod has no owner reference')
    assert placement.leader_of(orphan, NAME, [LEADER]) == expected


@pytest.mark.parametrize(
    ('leader', 'reason'),
    [
        pytest.param(pod('js-a-0-0-x'), None, id='nobody has looked yet'),
        pytest.param(pod('js-a-0-0-x', conditions=[UNSCHEDULABLE]), '0/2 nodes are available', id='no room'),
        pytest.param(pod('js-a-0-0-x', node='n1', conditions=[UNSCHEDULABLE]), None, id='bound after all'),
        pytest.param(
            pod('js-a-0-0-x', conditions=[UNSCHEDULABLE | {'message': ''}]), 'Unschedulable', id='without a message'
        ),
    ],
)
def test_why_a_leader_has_no_node(leader: Pod, reason: str | None) -> None:
    assert placement.unplaceable(leader) == reason


RIGHT = pod('js-a-0-1-x', index=1, rack='r1')
WRONG = pod('js-a-0-2-x', index=2, rack='r2')


@pytest.mark.parametrize(
    ('pods', 'verdict'),
    [
        pytest.param([LEADER, RIGHT], placement.NOTHING, id='all in place'),
        pytest.param([LEADER], placement.NOTHING, id='alone'),
        pytest.param([LEADER, WRONG], placement.Verdict(delete=(WRONG,)), id='elsewhere'),
        pytest.param(
            [LEADER, RIGHT, WRONG], placement.Verdict(delete=(RIGHT, WRONG)), id='one elsewhere: all followers go'
        ),
        pytest.param(
            [LEADER, pod('js-a-0-1-x', index=1)],
            placement.Verdict(delete=(pod('js-a-0-1-x', index=1),)),
            id='without a selector',
        ),
        pytest.param([WRONG, RIGHT], placement.NOTHING, id='no leader: no measure'),
        pytest.param([pod('js-a-0-0-x'), WRONG], placement.NOTHING, id='a leader without a node'),
        pytest.param([pod('js-a-0-0-x', node='n1', ending=True), WRONG], placement.NOTHING, id='the leader is ending'),
        pytest.param([pod('js-a-0-0-x', node='n1', phase='Failed'), WRONG], placement.NOTHING, id='it has failed'),
        pytest.param([LEADER, pod('js-a-0-0-y', node='n2'), WRONG], placement.NOTHING, id='two leaders: no measure'),
        pytest.param(
            [pod('js-a-0-0-old', node='n2', phase='Failed'), LEADER, WRONG],
            placement.Verdict(delete=(WRONG,)),
            id='a failed leader that was kept is not in the way',
        ),
        pytest.param(
            [LEADER, pod('js-a-0-2-x', index=2, rack='r2', owner='job-0')],
            placement.NOTHING,
            id='a pod of another owner with the same hash stays',
        ),
        pytest.param(
            [LEADER, pod('js-a-0-2-x', index=2, rack='r2', key='other')], placement.NOTHING, id='another hash stays'
        ),
        pytest.param(
            [LEADER, pod('js-a-0-2-x', index=2, rack='r2', phase='Succeeded')],
            placement.NOTHING,
            id='a follower that has ended stays',
        ),
        pytest.param(
            [LEADER, pod('js-a-0-2-x', index=2, rack='r2', ending=True)], placement.NOTHING, id='one that is ending'
        ),
        pytest.param(
            [pod('js-a-0-0-x', node='n1', strategy=True), pod('js-a-0-1-x', index=1, strategy=True)],
            placement.NOTHING,
            id='placed by a node selector: not ours',
        ),
        pytest.param(
            [pod('js-a-0-0-x', index=None, node='n1'), pod('js-a-0-1-x', index=None)],
            placement.NOTHING,
            id='a Job without indexes has no leader',
        ),
        pytest.param(
            [pod('js-a-0-0-x', node='gone'), RIGHT],
            placement.Verdict(unknown='leader topology is unknown (node gone not found)'),
            id='the node is not there',
        ),
        pytest.param(
            [pod('js-a-0-0-x', node='bare'), RIGHT],
            placement.Verdict(unknown='node bare of the leader does not have topology label: rack'),
            id='the node has no label',
        ),
        pytest.param([pod('js-a-0-0-x', node='gone')], placement.NOTHING, id='nobody follows: nothing to know'),
    ],
)
def test_verdict(pods: list[Pod], verdict: placement.Verdict) -> None:
    assert placement.judge(pods, NODES) == verdict


def test_pods_belong_together_by_owner() -> None:
    assert placement.group_of(LEADER) == placement.Group('ns', 'job-1')
    assert placement.group_of(pod('js-a-0-0-x', owner=None)) is None
    assert placement.group_of(pod('js-a-0-0-x', topology=None)) is None
    assert placement.group_of(pod('js-a-0-0-x', strategy=True)) is None


def test_the_mark_of_a_misplaced_pod() -> None:
    made = placement.violation('2026-01-02T03:04:05Z')

    assert made == {
        'type': 'DisruptionTarget',
        'status': 'True',
        'reason': 'ExclusivePlacementViolation',
        'message': 'Pod violated JobSet exclusive placement policy',
        'lastTransitionTime': '2026-01-02T03:04:05Z',
    }
    assert placement.is_marked(pod('js-a-0-1-x', conditions=[made]))
    assert not placement.is_marked(pod('js-a-0-1-x', conditions=[made | {'status': 'False'}]))
    assert not placement.is_marked(pod('js-a-0-1-x'))


def test_a_jobset_asks_for_it_itself_or_in_a_template() -> None:
    asked = {keys.EXCLUSIVE_TOPOLOGY: 'rack'}
    assert placement.asks(asked, [])
    assert placement.asks(
        None, [b'{}', b'{"metadata":{"annotations":{"%b":"rack"}}}' % keys.EXCLUSIVE_TOPOLOGY.encode()]
    )
    assert not placement.asks({'other': 'x'}, [b'{}'])


def test_a_pod_with_nothing_is_nobodys() -> None:
    bare = manifest('x-y-0-z', topology=None, index=None, owner=None)
    for part in ('labels', 'annotations', 'ownerReferences'):
        bare['metadata'][part] = None
    seen = msgspec.convert(bare, Pod)
    assert (seen.topology, seen.is_leader, seen.owner_uid) == (None, False, None)
