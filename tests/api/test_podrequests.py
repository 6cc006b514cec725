"""How much a pod asks for."""

from typing import Any

import msgspec
import pytest

from jobset.api import podrequests
from jobset.api.podrequests import Known


def spec(**fields: Any) -> podrequests.PodSpec:
    return msgspec.json.decode(msgspec.json.encode(fields), type=podrequests.PodSpec)


def container(cpu: str, *, name: str = 'c', **fields: Any) -> Any:
    return {'name': name, 'resources': {'requests': {'cpu': cpu, 'memory': '1Ki'}}, **fields}


GPUS = Known(
    templates={'two': {'deviceclass/gpu': 2}},
    claims={'one': {'deviceclass/gpu': 1, 'deviceclass/nic': 1}},
    classes={'example.com/gpu': 'gpu'},
)


@pytest.mark.parametrize(
    ('fields', 'wanted'),
    [
        pytest.param({}, {}, id='nothing'),
        pytest.param(
            {'containers': [container('1'), container('500m')]}, {'cpu': 1500, 'memory': 2048}, id='containers add up'
        ),
        pytest.param(
            {'containers': [container('1')], 'initContainers': [container('3'), container('2')]},
            {'cpu': 3000, 'memory': 1024},
            id='init containers run one after the other',
        ),
        pytest.param(
            {'containers': [container('1')], 'initContainers': [container('2', restartPolicy='Always')]},
            {'cpu': 3000, 'memory': 2048},
            id='sidecars stay',
        ),
        pytest.param(
            {
                'containers': [container('1')],
                'initContainers': [container('5'), container('1', restartPolicy='Always'), container('3')],
            },
            {'cpu': 5000, 'memory': 2048},
            id='an init container counts with the sidecars before it',
        ),
        pytest.param(
            {'containers': [container('1')], 'initContainers': [container('4')], 'overhead': {'cpu': '250m'}},
            {'cpu': 4250, 'memory': 1024},
            id='overhead on top of the peak',
        ),
        pytest.param(
            {'containers': [{'resources': {'limits': {'cpu': '2', 'memory': '1Ki'}, 'requests': {'cpu': '1'}}}]},
            {'cpu': 1000, 'memory': 1024},
            id='a limit where nothing is requested',
        ),
        pytest.param(
            {'containers': [container('1')], 'resources': {'requests': {'cpu': '7', 'example.com/x': '1'}}},
            {'cpu': 7000, 'memory': 1024},
            id='the pod as a whole',
        ),
        pytest.param(
            {'containers': [container('1')], 'resources': {'limits': {'cpu': '7', 'hugepages-2Mi': '2Mi'}}},
            {'cpu': 1000, 'memory': 1024, 'hugepages-2Mi': 2**21},
            id='a limit of the pod only where no container asks',
        ),
        pytest.param(
            {'containers': [{'resources': {'limits': {'example.com/fpga': 4}}}]},
            {'example.com/fpga': 4},
            id='extended resources',
        ),
        pytest.param({'containers': [container('x')]}, {'memory': 1024}, id='what is no quantity counts nothing'),
    ],
)
def test_B_27_effective_request(fields: dict[str, Any], wanted: dict[str, int]) -> None:
    assert podrequests.of(spec(**fields)) == {'pods': 1} | wanted


@pytest.mark.parametrize(
    ('fields', 'names'),
    [
        pytest.param({'containers': [container('1')]}, (), id='all there'),
        pytest.param({'containers': [container('1'), {'name': 'd'}]}, ('d',), id='none'),
        pytest.param({'containers': [{'name': 'c', 'resources': {'limits': {'cpu': 1}}}]}, ('c',), id='no memory'),
        pytest.param({'containers': [container('0')]}, ('c',), id='zero says nothing'),
        pytest.param(
            {'containers': [{'name': 'c'}], 'resources': {'requests': {'cpu': 1, 'memory': 1}}}, (), id='by the pod'
        ),
        pytest.param(
            {
                'containers': [container('1')],
                'initContainers': [{'name': 'i'}, {'name': 's', 'restartPolicy': 'Always'}],
            },
            ('s',),
            id='sidecars too, others are over soon',
        ),
    ],
)
def test_B_27_missing_requests_are_named(fields: dict[str, Any], names: tuple[str, ...]) -> None:
    assert podrequests.missing(spec(**fields)) == names


def test_B_27_what_cannot_be_read_is_told_with_its_place() -> None:
    sick = spec(containers=[container('1'), container('x')], overhead={'memory': '-1'})
    assert [place for place, _ in podrequests.unreadable(sick)] == [
        'overhead[memory]',
        'containers[1].resources.requests[cpu]',
    ]


@pytest.mark.parametrize(
    ('fields', 'wanted'),
    [
        pytest.param(
            {'containers': [{'resources': {'limits': {'example.com/gpu': 2}}}]}, {'deviceclass/gpu': 2}, id='named'
        ),
        pytest.param(
            {'containers': [{'resources': {'limits': {'deviceclass.resource.kubernetes.io/nic': 3}}}]},
            {'deviceclass/nic': 3},
            id='by the name of the class',
        ),
        pytest.param(
            {'resourceClaims': [{'name': 'a', 'resourceClaimTemplateName': 'two'}]}, {'deviceclass/gpu': 2}, id='claim'
        ),
        pytest.param(
            {
                'containers': [{'resources': {'limits': {'example.com/gpu': 2}}}],
                'resourceClaims': [
                    {'name': 'a', 'resourceClaimTemplateName': 'two'},
                    {'name': 'b', 'resourceClaimName': 'one'},
                    {'name': 'c', 'resourceClaimName': 'who'},
                ],
            },
            {'deviceclass/gpu': 5, 'deviceclass/nic': 1},
            id='each of several once',
        ),
    ],
)
def test_E_23_devices_are_charged_once(fields: dict[str, Any], wanted: dict[str, int]) -> None:
    assert podrequests.of(spec(**fields), known=GPUS) == {'pods': 1} | wanted


def test_E_23_unknown_claims_are_reported() -> None:
    claims = [
        {'name': 'a', 'resourceClaimTemplateName': 'two'},
        {'name': 'b', 'resourceClaimName': 'who'},
        {'name': 'c', 'resourceClaimTemplateName': 'one'},
    ]
    assert podrequests.unknown(spec(resourceClaims=claims), known=GPUS) == ('b', 'c')


@pytest.mark.parametrize(
    ('requests', 'wanted'),
    [
        pytest.param([], {}, id='nothing'),
        pytest.param([{'deviceClassName': 'gpu', 'count': 2}], {'deviceclass/gpu': 2}, id='v1beta1'),
        pytest.param([{'exactly': {'deviceClassName': 'gpu'}}], {'deviceclass/gpu': 1}, id='one, when nothing is said'),
        pytest.param(
            [{'exactly': {'deviceClassName': 'gpu', 'count': 2}}, {'exactly': {'deviceClassName': 'gpu'}}],
            {'deviceclass/gpu': 3},
            id='requests add up',
        ),
        pytest.param(
            [
                {
                    'firstAvailable': [
                        {'deviceClassName': 'big', 'count': 1},
                        {'deviceClassName': 'small', 'count': 2},
                        {'deviceClassName': 'small', 'count': 4},
                    ]
                }
            ],
            {'deviceclass/big': 1, 'deviceclass/small': 4},
            id='the most of all alternatives',
        ),
        pytest.param([{'exactly': {'deviceClassName': 'gpu', 'allocationMode': 'All'}}], None, id='all there are'),
        pytest.param([{'exactly': {'deviceClassName': 'gpu', 'adminAccess': True}}], {}, id='for administration'),
    ],
)
def test_E_23_devices_of_a_claim(requests: list[Any], wanted: dict[str, int] | None) -> None:
    claim = msgspec.convert({'devices': {'requests': requests}}, podrequests.ClaimSpec)
    assert podrequests.devices(claim) == wanted
