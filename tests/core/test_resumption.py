"""What a suspended Job takes from the current template when it is started again."""

import pytest

from jobset.api import keys, types
from jobset.core import jobs, resumption
from tests.core import build

OURS, OTHERS = keys.FIELD_MANAGER, 'kueue'
MIXED = keys.MIXED_FIELD_MANAGER
T1: build.Manifest = {'key': 'gpu', 'operator': 'Exists'}
T2: build.Manifest = {'key': 'spot', 'operator': 'Equal', 'value': 'yes', 'tolerationSeconds': 60}
G1: build.Manifest = {'name': 'example.com/one'}
G2: build.Manifest = {'name': 'example.com/two'}


def _replicated_job(pod: build.Manifest, metadata: build.Manifest | None = None) -> types.ReplicatedJob:
    template = {'spec': {'template': {'metadata': metadata or {}, 'spec': build.POD | pod}}}
    return build.jobset(build.part('a', template=template)).spec.replicated_jobs[0]


def _live(
    pod: build.Manifest,
    metadata: build.Manifest | None = None,
    *,
    owned: dict[str, build.Manifest] | None = None,
    annotations: build.Manifest | None = None,
) -> build.Manifest:
    """A Job as the server holds it; ``owned`` are the parts of the pod template that each manager wrote."""
    return {
        'metadata': {
            'name': 'js-a-0',
            'resourceVersion': '42',
            'annotations': annotations,
            'managedFields': [
                {
                    'manager': manager,
                    'operation': 'Update',
                    'fieldsType': 'FieldsV1',
                    'fieldsV1': {'f:spec': {'f:suspend': {}, 'f:template': fields}},
                }
                for manager, fields in (owned or {}).items()
            ],
        },
        'spec': {'suspend': True, 'template': {'metadata': metadata or {}, 'spec': build.POD | pod}},
    }


def _patch(template: build.Manifest | None = None) -> build.Manifest:
    changed = {} if template is None else {'template': template}
    return {'metadata': {'resourceVersion': '42'}, 'spec': {'suspend': False, **changed}}


def _pod_fields(**fields: build.Manifest) -> build.Manifest:
    return {'f:spec': {f'f:{name}': tree for name, tree in fields.items()}}


ATOMIC: build.Manifest = {}
"""How the server notes a field that has one owner as a whole, as node selectors and tolerations have."""


@pytest.mark.parametrize(
    ('wanted', 'present', 'owned', 'template'),
    [
        pytest.param({}, {}, {}, None, id='nothing to change but the start'),
        pytest.param(
            {'nodeSelector': {'pool': 'a'}},
            {},
            {},
            {'spec': {'nodeSelector': {'pool': 'a'}}},
            id='a new node selector arrives',
        ),
        pytest.param(
            {'nodeSelector': {'pool': 'b'}},
            {'nodeSelector': {'pool': 'a'}},
            {OURS: _pod_fields(nodeSelector=ATOMIC)},
            {'spec': {'nodeSelector': {'pool': 'b'}}},
            id='a changed node selector arrives',
        ),
        pytest.param(
            {'nodeSelector': {'zone': 'z'}},
            {'nodeSelector': {'pool': 'a'}},
            {OURS: _pod_fields(nodeSelector=ATOMIC)},
            {'spec': {'nodeSelector': {'zone': 'z', 'pool': None}}},
            id='a key that we wrote and the template lost goes',
        ),
        pytest.param(
            {},
            {'nodeSelector': {'pool': 'a'}},
            {OURS: _pod_fields(nodeSelector=ATOMIC)},
            {'spec': {'nodeSelector': {'pool': None}}},
            id='the last key goes, too',
        ),
        pytest.param(
            {'nodeSelector': {'zone': 'z'}},
            {'nodeSelector': {'pool': 'a'}},
            {OTHERS: _pod_fields(nodeSelector=ATOMIC)},
            {'spec': {'nodeSelector': {'zone': 'z'}}},
            id='a node selector that others wrote stays',
        ),
        pytest.param(
            {},
            {'nodeSelector': {keys.NAMESPACED_JOB: 'default_js-a-0'}},
            {OURS: _pod_fields(nodeSelector=ATOMIC)},
            None,
            id="the set's own node selector stays",
        ),
        pytest.param({'tolerations': [T1]}, {}, {}, {'spec': {'tolerations': [T1]}}, id='a toleration arrives'),
        pytest.param(
            {'tolerations': [T2]},
            {'tolerations': [T1]},
            {OURS: _pod_fields(tolerations=ATOMIC)},
            {'spec': {'tolerations': [T2]}},
            id='tolerations that we wrote are replaced',
        ),
        pytest.param(
            {},
            {'tolerations': [T1]},
            {OURS: _pod_fields(tolerations=ATOMIC)},
            {'spec': {'tolerations': None}},
            id='the last toleration goes',
        ),
        pytest.param(
            {'tolerations': [T2, T1]},
            {'tolerations': [T1]},
            {OTHERS: _pod_fields(tolerations=ATOMIC)},
            {'spec': {'tolerations': [T1, T2]}},
            id='tolerations that others wrote stay, and none is there twice',
        ),
        pytest.param(
            {'tolerations': [T2]},
            {'tolerations': [dict(T2)]},
            {OURS: _pod_fields(tolerations=ATOMIC)},
            None,
            id='equal tolerations are the same, with their seconds',
        ),
        pytest.param(
            {'schedulingGates': [G2]},
            {'schedulingGates': [G1]},
            {OURS: _pod_fields(schedulingGates={'k:{"name":"example.com/one"}': {'.': {}, 'f:name': {}}})},
            {'spec': {'schedulingGates': [G2]}},
            id='a gate that we wrote and the template lost goes',
        ),
        pytest.param(
            {'schedulingGates': [G2]},
            {'schedulingGates': [G1]},
            {OTHERS: _pod_fields(schedulingGates={'k:{"name":"example.com/one"}': {'.': {}, 'f:name': {}}})},
            {'spec': {'schedulingGates': [G1, G2]}},
            id='a gate that others wrote stays',
        ),
        pytest.param(
            {},
            {'schedulingGates': [G1]},
            {OURS: _pod_fields(schedulingGates={'k:{"name":"example.com/one"}': {'.': {}, 'f:name': {}}})},
            {'spec': {'schedulingGates': None}},
            id='the last gate goes',
        ),
    ],
)
def test_the_pod_spec(
    wanted: build.Manifest,
    present: build.Manifest,
    owned: dict[str, build.Manifest],
    template: build.Manifest | None,
) -> None:
    assert resumption.change(_live(present, owned=owned), _replicated_job(wanted)).patch == _patch(template)


@pytest.mark.parametrize('field', ['labels', 'annotations'])
@pytest.mark.parametrize(
    ('wanted', 'present', 'owned', 'change'),
    [
        pytest.param({'a': '1'}, {}, {}, {'a': '1'}, id='a new key arrives'),
        pytest.param({'a': '2'}, {'a': '1'}, {}, {'a': '2'}, id='a changed value arrives'),
        pytest.param({'a': '1'}, {'a': '1'}, {OURS: ['a']}, None, id='an equal value is no change'),
        pytest.param({}, {'a': '1'}, {OURS: ['a']}, {'a': None}, id='a key that we wrote and the template lost goes'),
        pytest.param({}, {'a': '1'}, {OTHERS: ['a']}, None, id='a key that others wrote stays'),
        pytest.param({}, {'a': '1'}, {}, None, id='a key that nobody wrote, as the Job controller adds some, stays'),
        pytest.param({}, {keys.JOB_INDEX: '0'}, {OURS: [keys.JOB_INDEX]}, None, id="the set's own keys stay"),
        pytest.param(
            {}, {keys.EXCLUSIVE_TOPOLOGY: 'rack'}, {OURS: [keys.EXCLUSIVE_TOPOLOGY]}, None, id='placement keys stay'
        ),
    ],
)
def test_the_metadata(
    field: str,
    wanted: dict[str, str],
    present: dict[str, str],
    owned: dict[str, list[str]],
    change: build.Manifest | None,
) -> None:
    trees: dict[str, build.Manifest] = {
        manager: {'f:metadata': {f'f:{field}': {'.': {}} | {f'f:{key}': {} for key in owned_keys}}}
        for manager, owned_keys in owned.items()
    }

    found = resumption.change(_live({}, {field: present}, owned=trees), _replicated_job({}, {field: wanted})).patch

    assert found == _patch(None if change is None else {'metadata': {field: change}})


def test_what_several_writes_of_ours_put_there_is_ours() -> None:
    live = _live({'nodeSelector': {'pool': 'a'}}, {'labels': {'a': '1'}})
    live['metadata']['managedFields'] = [
        {'manager': OURS, 'fieldsV1': {'f:spec': {'f:template': {'f:metadata': {'f:labels': {'f:a': {}}}}}}},
        {'manager': OURS, 'subresource': 'status', 'fieldsV1': {'f:status': {}}},
        {'manager': OURS, 'fieldsV1': {'f:spec': {'f:template': _pod_fields(nodeSelector=ATOMIC)}}},
    ]

    assert resumption.change(live, _replicated_job({})).patch == _patch(
        {'metadata': {'labels': {'a': None}}, 'spec': {'nodeSelector': {'pool': None}}}
    )


def test_the_placement_toleration_is_kept_where_placement_needs_it() -> None:
    placed = {keys.EXCLUSIVE_TOPOLOGY: 'rack', keys.NODE_SELECTOR_STRATEGY: 'true'}
    owned = {OURS: _pod_fields(tolerations=ATOMIC)}
    live = _live({'tolerations': [T1, jobs.PLACEMENT_TOLERATION]}, owned=owned, annotations={**placed})

    assert resumption.change(live, _replicated_job({'tolerations': [T2]})).patch == _patch(
        {'spec': {'tolerations': [T2, jobs.PLACEMENT_TOLERATION]}}
    )


def test_a_job_without_managed_fields_keeps_all_it_has() -> None:
    live = _live({'nodeSelector': {'pool': 'a'}, 'tolerations': [T1], 'schedulingGates': [G1]})
    del live['metadata']['managedFields']

    assert resumption.change(live, _replicated_job({'tolerations': [T2]})).patch == _patch(
        {'spec': {'tolerations': [T1, T2]}}
    )


@pytest.mark.parametrize(
    ('owned', 'manager', 'selector'),
    [
        pytest.param({OURS: _pod_fields(nodeSelector=ATOMIC)}, OURS, {'zone': 'b', 'pool': None}, id='only by us'),
        pytest.param({OTHERS: _pod_fields(nodeSelector=ATOMIC)}, MIXED, {'zone': 'b'}, id='by others'),
        pytest.param({MIXED: _pod_fields(nodeSelector=ATOMIC)}, MIXED, {'zone': 'b'}, id='by us, beside others'),
    ],
)
def test_a_node_selector_that_was_written(
    owned: dict[str, build.Manifest],
    manager: str,
    selector: build.Manifest,
) -> None:
    """It has one owner: once others have written it, nothing of it is taken for ours, in no later resume either."""
    live = _live({'nodeSelector': {'zone': 'a', 'pool': 'theirs'}}, owned=owned)

    found = resumption.change(live, _replicated_job({'nodeSelector': {'zone': 'b'}}))

    assert found == resumption.Change(_patch({'spec': {'nodeSelector': selector}}), manager)


def test_labels_that_were_written_beside_others_are_still_ours() -> None:
    owned = {MIXED: {'f:metadata': {'f:labels': {'f:a': {}}}, **_pod_fields(nodeSelector=ATOMIC)}}
    live = _live({'nodeSelector': {'pool': 'theirs'}}, {'labels': {'a': '1'}}, owned=owned)

    assert resumption.change(live, _replicated_job({})) == resumption.Change(
        _patch({'metadata': {'labels': {'a': None}}}), OURS
    )
