"""Requests whose answers are the same here and on a real API server, one after the other in one namespace.

``tests/local/server/record.py`` asks a real server and keeps its answers in ``recorded.json``; ``test_table.py`` asks
ours and compares. What differs says so, with the reason, and then only the code of the answer is compared.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

NAMESPACE: Final = 'table'

JSON: Final = 'application/json'
MERGE: Final = 'application/merge-patch+json'
JSON_PATCH: Final = 'application/json-patch+json'
STRATEGIC: Final = 'application/strategic-merge-patch+json'
APPLY: Final = 'application/apply-patch+yaml'
YAML: Final = 'application/yaml'

TABLE: Final = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'
PARTIAL: Final = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json'


@dataclass(frozen=True)
class Step:
    """One request."""

    method: str
    target: str
    """Path and query."""

    body: Any = None
    """Sent as JSON, or as it is when it is text."""

    media: str = JSON
    accept: str = JSON
    differs: str = ''
    """Why only the code of the answer is compared; empty when all of it is."""

    @property
    def data(self) -> bytes:
        """The body as bytes."""
        if self.body is None:
            return b''
        return (self.body if isinstance(self.body, str) else json.dumps(self.body)).encode()

    @property
    def title(self) -> str:
        """What it is called in a report."""
        shown = '' if self.body is None else ' ' + self.data.decode()[:60]
        return f'{self.method} {self.target.replace(f"/namespaces/{NAMESPACE}", "")}{shown}'


@dataclass
class Answered:
    """What came back, without what differs from run to run."""

    code: int
    body: Any
    warnings: Sequence[str] = field(default_factory=tuple)


N: Final = f'/api/v1/namespaces/{NAMESPACE}'
MAPS: Final = f'{N}/configmaps'
PODS: Final = f'{N}/pods'
JOBS: Final = f'/apis/batch/v1/namespaces/{NAMESPACE}/jobs'
LEASES: Final = f'/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases'
CRDS: Final = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
WIDGETS: Final = f'/apis/table.example.com/v1/namespaces/{NAMESPACE}/widgets'

_PARSER: Final = 'the text of the JSON parser is another one'
_SCHEME: Final = 'the real text names a file of its source'
_STATUS_LABELS: Final = 'labels that are written through a status have no owner here'
_LIST: Final = 'items here carry their kind'


def _map(name: str, **data: str) -> dict[str, Any]:
    return {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': name}, 'data': data}


def _pod(name: str) -> dict[str, Any]:
    return {'metadata': {'name': name}, 'spec': {'restartPolicy': 'Never', 'containers': [{'name': 'a', 'image': 'b'}]}}


def _job(name: str, **spec: Any) -> dict[str, Any]:
    template = {'spec': {'restartPolicy': 'Never', 'containers': [{'name': 'a', 'image': 'b'}]}}
    return {'metadata': {'name': name}, 'spec': {'suspend': True, 'template': template} | spec}


_CRD: Final = {
    'apiVersion': 'apiextensions.k8s.io/v1',
    'kind': 'CustomResourceDefinition',
    'metadata': {'name': 'widgets.table.example.com'},
    'spec': {
        'group': 'table.example.com',
        'scope': 'Namespaced',
        'names': {'plural': 'widgets', 'singular': 'widget', 'kind': 'Widget', 'listKind': 'WidgetList'},
        'versions': [
            {
                'name': 'v1',
                'served': True,
                'storage': True,
                'subresources': {'status': {}},
                'schema': {
                    'openAPIV3Schema': {
                        'type': 'object',
                        'properties': {
                            'spec': {'type': 'object', 'properties': {'n': {'type': 'integer', 'maximum': 9}}},
                            'status': {'type': 'object', 'properties': {'n': {'type': 'integer'}}},
                        },
                    }
                },
            }
        ],
    },
}


def _widget(name: str, **parts: Any) -> dict[str, Any]:
    return {'apiVersion': 'table.example.com/v1', 'kind': 'Widget', 'metadata': {'name': name}} | parts


CREATING: Final = (
    Step('POST', MAPS, _map('a', x='1')),
    Step('POST', MAPS, _map('a', x='1')),
    Step('POST', MAPS, _map('A_')),
    Step('POST', MAPS, {'metadata': {}}),
    Step('POST', MAPS, {'metadata': {'name': 'b', 'resourceVersion': '12'}}),
    Step('POST', MAPS, {'metadata': {'name': 'b', 'namespace': 'other'}}),
    Step('POST', MAPS, {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'b'}}, differs=_SCHEME),
    Step('POST', MAPS, {'apiVersion': 'v2', 'kind': 'ConfigMap', 'metadata': {'name': 'b'}}, differs=_SCHEME),
    Step('POST', MAPS, {'metadata': {'name': 'b'}}),
    Step('POST', MAPS, '{"a":'),
    Step('POST', MAPS, '{"a" 1}', differs=_PARSER),
    Step('POST', MAPS, '[]', differs='the real text shows the bytes in hexadecimal'),
    Step('POST', MAPS, ''),
    Step('POST', MAPS, 'null'),
    Step('POST', f'{MAPS}?fieldValidation=Strict', '{"metadata":{"name":"c","foo":1},"dat":{},"data":{"a":"1"}}'),
    Step('POST', f'{MAPS}?fieldValidation=Strict', '{"metadata":{"name":"c"},"data":{"a":"1","a":"2"}}'),
    Step('POST', f'{MAPS}?fieldValidation=Warn', '{"metadata":{"name":"c","foo":1},"dat":{},"data":{"a":"1"}}'),
    Step('POST', f'{MAPS}?fieldValidation=Bogus', {}),
    Step('POST', f'{MAPS}?dryRun=Some', {}),
    Step('POST', f'{MAPS}?dryRun=All', _map('d', x='1')),
    Step('POST', f'{MAPS}?fieldManager=me', _map('e', x='1')),
    Step('POST', MAPS, 'kind: ConfigMap\napiVersion: v1\nmetadata:\n  name: f\ndata: {x: "1"}\n', media=YAML),
    Step('POST', MAPS, 'kind: ConfigMap', media='text/plain', differs='no protobuf here'),
    Step('POST', '/api/v1/namespaces/none/configmaps', _map('a')),
    Step('POST', '/api/v1/configmaps', _map('a')),
    Step('POST', MAPS, {'metadata': {'name': 'g', 'labels': {'a': None}}}),
    Step('POST', MAPS, {'metadata': {'name': 'h', 'labels': {'a': 1}}}),
    Step('POST', MAPS, {'metadata': {'name': 'h', 'labels': {'a/b/c': 'd e'}, 'annotations': {'x y': '1'}}}),
    Step('POST', MAPS, {'metadata': {'name': 'h', 'finalizers': ['x']}}),
    Step('POST', MAPS, {'metadata': {'name': 'h', 'ownerReferences': [{'name': 'x'}]}}),
    Step('POST', '/api/v1/namespaces', {'metadata': {'name': 'a.b'}}),
    Step('POST', f'{N}/services', {'metadata': {'name': 's.x'}, 'spec': {'clusterIP': 'None'}}),
    Step('POST', PODS, {'metadata': {'name': 's_x'}, 'spec': {'containers': [{'name': 'a', 'image': 'b'}]}}),
)

READING: Final = (
    Step('GET', f'{MAPS}/a'),
    Step('GET', f'{MAPS}/none'),
    Step('GET', f'{N}/foos/none'),
    Step('GET', '/api/v3/namespaces/x/foos/none'),
    Step('GET', '/apis/batch/v7/jobs'),
    Step('GET', '/apis/batch/v7'),
    Step('GET', '/apis/none.example.com/v7/jobs'),
    Step('GET', '/none'),
    Step('GET', f'{N}/nodes'),
    Step('GET', '/api/v1/nodes/x/y/z'),
    Step('GET', f'{JOBS}/none/nothing'),
    Step('PUT', MAPS, {}),
    Step('POST', f'{MAPS}/a', {}),
    Step('DELETE', '/api/v1/namespaces'),
    Step('POST', '/api/v1'),
    Step('POST', '/version'),
    Step('GET', f'{MAPS}/a', accept='text/html', differs='no protobuf here'),
    Step('GET', f'{MAPS}/a', accept='application/xml,*/*'),
    Step('GET', f'{MAPS}/a', accept=TABLE, differs='columns of config maps are not described here'),
    Step('GET', f'{MAPS}/a', accept=PARTIAL),
    Step('GET', f'{MAPS}?limit=2', differs=_LIST),
    Step('GET', f'{MAPS}?limit=x'),
    Step('GET', f'{MAPS}?continue=abc', differs=_PARSER),
    Step('GET', f'{MAPS}?resourceVersion=abc'),
    Step('GET', f'{MAPS}?resourceVersion=99999999', differs='the current version is another one'),
    Step('GET', f'{MAPS}?resourceVersionMatch=Exact'),
    Step('GET', f'{MAPS}?resourceVersionMatch=Exact&resourceVersion=0'),
    Step('GET', f'{MAPS}?labelSelector=a+in+b'),
    Step('GET', f'{MAPS}?labelSelector=a=,!b,c+notin+(x,y)', differs=_LIST),
    Step('GET', f'{MAPS}?labelSelector=A_-/b'),
    Step('GET', f'{MAPS}?fieldSelector=foo=a'),
    Step('GET', f'{MAPS}?fieldSelector=foo'),
    Step('GET', f'{PODS}?fieldSelector=foo=a'),
    Step('GET', f'{MAPS}?watch=1&resourceVersion=abc'),
    Step('GET', f'{MAPS}?watch=1&sendInitialEvents=true'),
    Step('GET', f'{MAPS}?watch=1&sendInitialEvents=false'),
    Step('GET', f'{MAPS}?watch=1&resourceVersionMatch=NotOlderThan'),
    Step('GET', '/healthz'),
    Step('GET', '/readyz/ping'),
)

CHANGING: Final = (
    Step('PATCH', f'{MAPS}/a', {}, media=JSON),
    Step('PATCH', f'{MAPS}/a', '{', media=MERGE),
    Step('PATCH', f'{MAPS}/a', [], media=MERGE),
    Step('PATCH', f'{MAPS}/a', {}, media=JSON_PATCH),
    Step('PATCH', f'{MAPS}/a', [{'op': 'replace', 'path': '/nope/x', 'value': 1}], media=JSON_PATCH),
    Step('PATCH', f'{MAPS}/a', [{'op': 'test', 'path': '/data/x', 'value': '7'}], media=JSON_PATCH),
    Step('PATCH', f'{MAPS}/a', [{'op': 'add', 'path': '/data/j', 'value': '7'}], media=JSON_PATCH),
    Step('PATCH', f'{MAPS}/a?force=true', {'data': {'x': '2'}}, media=MERGE),
    Step('PATCH', f'{MAPS}/a', {'apiVersion': 'v1', 'kind': 'ConfigMap'}, media=APPLY),
    Step('PATCH', f'{MAPS}/a', {'metadata': {'name': 'q'}}, media=MERGE),
    Step('PATCH', f'{MAPS}/a', {'metadata': {'resourceVersion': '1'}}, media=MERGE),
    Step('PATCH', f'{MAPS}/a', {'metadata': {'uid': '1'}}, media=MERGE),
    Step('PATCH', f'{MAPS}/a', {'metadata': {'deletionTimestamp': '2020-01-01T00:00:00Z'}}, media=MERGE),
    Step('PATCH', f'{MAPS}/a', {'metadata': {'labels': {'a/b/c': 'd e'}}}, media=MERGE),
    Step('PATCH', f'{MAPS}/a', {'metadata': {'finalizers': ['x']}}, media=MERGE),
    Step('PATCH', f'{MAPS}/a', {'data': {'x': '2', 'y': '3'}, 'metadata': {'labels': {'l': 'm'}}}, media=MERGE),
    Step('PATCH', f'{MAPS}/a', {'data': {'x': '2', 'y': None}}, media=STRATEGIC),
    Step('PATCH', f'{MAPS}/none', {'data': {'x': '2'}}, media=MERGE),
    Step('PATCH', f'{MAPS}/a?fieldValidation=Strict', {'dat': {'b': [1, None, True, 'x'], 'a': {}}}, media=STRATEGIC),
    Step(
        'PATCH',
        f'{MAPS}/a?fieldValidation=Strict',
        {'dat': {}},
        media=MERGE,
        differs='it shows the object, with its version',
    ),
    Step('PATCH', f'{MAPS}/a', {'dat': {}, 'data': {'x': '2'}}, media=MERGE),
    Step('PATCH', f'{MAPS}/a', {'data': {'x': 1}}, media=MERGE, differs='it shows the object, with its version'),
    Step('PUT', f'{MAPS}/a', _map('b')),
    Step('PUT', f'{MAPS}/a', _map('a') | {'metadata': {'name': 'a', 'resourceVersion': '1'}}),
    Step('PUT', f'{MAPS}/a', _map('a') | {'metadata': {'name': 'a', 'resourceVersion': 'x'}}),
    Step(
        'PUT',
        f'{MAPS}/a',
        _map('a') | {'metadata': {'name': 'a', 'uid': '1'}},
        differs='the real text names a key of etcd',
    ),
    Step('PUT', f'{MAPS}/a', _map('a') | {'metadata': {'name': 'a', 'namespace': 'q'}}),
    Step('PUT', f'{MAPS}/a', _map('a') | {'metadata': {}}),
    Step('PUT', f'{MAPS}/none', _map('none')),
    Step('PUT', f'{MAPS}/none', _map('none') | {'metadata': {'name': 'none', 'resourceVersion': '5'}}),
    Step('PUT', f'{MAPS}/a', _map('a', new='1')),
    Step('PUT', f'{MAPS}/a?dryRun=All', _map('a', newer='1')),
    Step('GET', f'{MAPS}/a'),
    Step('POST', LEASES, {'metadata': {'name': 'l'}, 'spec': {'holderIdentity': 'me'}}),
    Step('PUT', f'{LEASES}/l', {'metadata': {'name': 'l'}, 'spec': {}}),
    Step('POST', JOBS, _job('j')),
    Step(
        'PUT',
        f'{JOBS}/j/status',
        {'metadata': {'name': 'j', 'labels': {'a': 'b'}}, 'status': {'active': 3}},
        differs=_STATUS_LABELS,
    ),
    Step('GET', f'{JOBS}/j/status', differs=_STATUS_LABELS),
    Step(
        'PATCH',
        f'{JOBS}/j',
        {'spec': {'parallelism': 2}, 'status': {'active': 9}},
        media=STRATEGIC,
        differs=_STATUS_LABELS,
    ),
    Step('PATCH', f'{JOBS}/j', {'spec': {'completionMode': 'Indexed'}}, media=MERGE),
    Step('POST', f'{JOBS}/j/status', {}),
    Step('DELETE', f'{JOBS}/j/status'),
)

APPLYING: Final = (
    Step('PATCH', f'{MAPS}/ap?fieldManager=x', {'apiVersion': 'v1', 'kind': 'ConfigMap', 'data': {}}, media=APPLY),
    Step('PATCH', f'{MAPS}/ap?fieldManager=x', _map('ap', x='1'), media=APPLY),
    Step('PATCH', f'{MAPS}/ap?fieldManager=x', _map('ap', x='1'), media=APPLY),
    Step('PATCH', f'{MAPS}/ap?fieldManager=y', _map('ap', x='2'), media=APPLY),
    Step('PATCH', f'{MAPS}/ap?fieldManager=y&force=true', _map('ap', x='2'), media=APPLY),
    Step('PATCH', f'{MAPS}/ap?fieldManager=y', {'kind': 'ConfigMap', 'data': {'x': '2'}}, media=APPLY),
    Step('PATCH', f'{MAPS}/ap?fieldManager=y', _map('other', x='2'), media=APPLY),
    Step('PATCH', f'{MAPS}/ap?fieldManager=y&fieldValidation=Strict', _map('ap') | {'dat': {}}, media=APPLY),
    Step(
        'PATCH',
        f'{MAPS}/ap?fieldManager=y',
        _map('ap') | {'metadata': {'name': 'ap', 'managedFields': [{}]}},
        media=APPLY,
    ),
)

DELETING: Final = (
    Step('PATCH', f'{MAPS}/ap', {'metadata': {'finalizers': ['a.b/c']}}, media=MERGE),
    Step('DELETE', f'{MAPS}/ap'),
    Step('DELETE', f'{MAPS}/ap'),
    Step('PATCH', f'{MAPS}/ap', {'metadata': {'finalizers': ['a.b/c', 'a.b/d']}}, media=MERGE),
    Step('PATCH', f'{MAPS}/ap', {'metadata': {'finalizers': None}}, media=MERGE),
    Step('GET', f'{MAPS}/ap'),
    Step('DELETE', f'{MAPS}/a?dryRun=All'),
    Step('DELETE', f'{MAPS}/a', {'preconditions': {'uid': 'x'}}),
    Step('DELETE', f'{MAPS}/a', {'preconditions': {'resourceVersion': '3'}}, differs='the version is another one'),
    Step('DELETE', f'{MAPS}/a', {'orphanDependents': True, 'propagationPolicy': 'Orphan'}),
    Step('DELETE', f'{MAPS}/a', {'propagationPolicy': 'Orph'}),
    Step('DELETE', f'{MAPS}/a', {'kind': 'Foo', 'apiVersion': 'v1'}, differs=_SCHEME),
    Step('DELETE', f'{MAPS}/a?propagationPolicy=Orphan', {}),
    Step('DELETE', f'{MAPS}/none'),
    Step('DELETE', f'{MAPS}/c?propagationPolicy=Foreground'),
    Step('DELETE', f'{MAPS}?labelSelector=none=1', differs=_LIST),
    Step(
        'POST',
        f'{N}/services',
        {'metadata': {'name': 's'}, 'spec': {'clusterIP': 'None', 'ipFamilyPolicy': 'SingleStack'}},
    ),
    Step('DELETE', f'{N}/services/s'),
    Step('POST', f'{N}/serviceaccounts', {'metadata': {'name': 's'}}),
    Step('DELETE', f'{N}/serviceaccounts/s'),
    Step('POST', f'{N}/secrets', {'metadata': {'name': 's'}}),
    Step('DELETE', f'{N}/secrets/s'),
    Step('DELETE', f'{LEASES}/l'),
    Step('DELETE', '/api/v1/namespaces/default'),
)

PODDING: Final = (
    Step('POST', PODS, _pod('p'), differs='no tokens of service accounts are mounted here'),
    Step('GET', f'{PODS}/p/log?container=zz'),
    Step('GET', f'{PODS}/none/log'),
    Step('GET', f'{PODS}/p/exec'),
    Step('POST', f'{PODS}/p/binding', {'metadata': {'name': 'x'}, 'target': {'name': 'n1'}}),
    Step('POST', f'{PODS}/p/binding', {'metadata': {'name': 'p'}}),
    Step('POST', f'{PODS}/p/binding', {'metadata': {'name': 'p'}, 'target': {'kind': 'Node', 'name': 'n1'}}),
    Step('POST', f'{PODS}/p/binding', {'metadata': {'name': 'p'}, 'target': {'kind': 'Node', 'name': 'n1'}}),
    Step('POST', f'{N}/bindings', {'metadata': {'name': 'none'}, 'target': {'kind': 'Node', 'name': 'n1'}}),
    Step('DELETE', f'{PODS}/p', differs='no tokens of service accounts are mounted here'),
    Step('DELETE', f'{PODS}/p?gracePeriodSeconds=0', differs='no tokens of service accounts are mounted here'),
    Step('GET', f'{PODS}/p'),
    Step('POST', PODS, _pod('q'), differs='no tokens of service accounts are mounted here'),
    Step('POST', f'{PODS}/q/eviction', {'metadata': {'name': 'q'}}),
    Step('POST', f'{PODS}/none/eviction', {'metadata': {'name': 'none'}}),
)

CUSTOM: Final = (
    Step('POST', CRDS, _CRD, differs='its status follows at once here'),
    Step('GET', WIDGETS, differs='no empty continue token here'),
    Step('POST', f'{WIDGETS}?fieldValidation=Strict', _widget('a', x=1, spec={'n': 1, 'z': 1})),
    Step('POST', WIDGETS, _widget('a', x=1, spec={'n': 2, 'z': 1}, status={'n': 3})),
    Step('POST', WIDGETS, {'metadata': {'name': 'b'}}),
    Step('POST', WIDGETS, _widget('b') | {'apiVersion': 'table.example.com/v2'}),
    Step('POST', WIDGETS, _widget('b') | {'kind': 'Widge'}),
    Step('POST', WIDGETS, _widget('b', spec={'n': 'x'})),
    Step('POST', WIDGETS, _widget('b', spec={'n': 10})),
    Step('PUT', f'{WIDGETS}/a', _widget('a', spec={'n': 5})),
    Step('PATCH', f'{WIDGETS}/a', {'spec': {'n': 3}}, media=STRATEGIC),
    Step('PATCH', f'{WIDGETS}/a', {'spec': {'n': 3}, 'status': {'n': 7}}, media=MERGE),
    Step(
        'PATCH',
        f'{WIDGETS}/a/status',
        {'spec': {'n': 9}, 'status': {'n': 7}, 'metadata': {'labels': {'a': 'b'}}},
        media=MERGE,
    ),
    Step('PATCH', f'{WIDGETS}/a', {'spec': {'n': 'x'}}, media=MERGE),
    Step('PATCH', f'{WIDGETS}/a?fieldManager=x', _widget('a', spec={'n': 4}), media=APPLY),
    Step('PATCH', f'{WIDGETS}/a?fieldManager=x&force=1', _widget('a', spec={'n': 4}), media=APPLY),
    Step('GET', WIDGETS, accept=TABLE),
    Step('GET', f'{WIDGETS}/none'),
    Step('GET', '/apis/table.example.com/v1', differs='another order of verbs, no hash of the storage version'),
    Step('DELETE', f'{WIDGETS}/a'),
    Step('DELETE', f'{CRDS}/widgets.table.example.com', differs='its status is another one'),
)

STEPS: Final = (*CREATING, *READING, *CHANGING, *APPLYING, *DELETING, *PODDING, *CUSTOM)

_UID: Final = re.compile(r'[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}')
_TIME: Final = re.compile(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z')


def plain(code: int, body: bytes, warnings: Sequence[str]) -> Answered:
    """An answer without uids, times and versions."""
    text = _TIME.sub('<time>', _UID.sub('<uid>', body.decode(errors='replace')))
    try:
        parsed = json.loads(text)
    except ValueError:
        parsed = text.strip()
    return Answered(code, _without_versions(parsed), tuple(warnings))


def _without_versions(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: '<version>' if key == 'resourceVersion' and part != '' else _without_versions(part)
            for key, part in value.items()
        }
    if isinstance(value, list):
        return [_without_versions(part) for part in value]
    return re.sub(r'^\d+[smh](\d+s)?$', '<age>', value) if isinstance(value, str) else value
