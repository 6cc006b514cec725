"""Records what a real API server makes of the sequences: ``python -m tests.local.patches.record KUBECONFIG``.

It works in a namespace and with a CRD of its own and removes both. Each step waits for a new second, since times of
managed fields are whole seconds; recorded is the number of the step instead.
"""

import argparse
import bisect
import gzip
import json
import pathlib
import time
from typing import Any, Final

from tests.local import reference
from tests.local.patches import sequences

FILE: Final = pathlib.Path(__file__).with_name('data') / 'sequences.json.gz'
_NAMESPACE: Final = 'h-a-recorded'
_DEFINITION: Final = 'things.a.example.com'
_PLURALS: Final = {
    'ConfigMap': f'/api/v1/namespaces/{_NAMESPACE}/configmaps',
    'PodTemplate': f'/api/v1/namespaces/{_NAMESPACE}/podtemplates',
    'Job': f'/apis/batch/v1/namespaces/{_NAMESPACE}/jobs',
    'Thing': f'/apis/a.example.com/v1/namespaces/{_NAMESPACE}/things',
}
_CONTENT: Final = {
    'apply': 'application/apply-patch+yaml',
    'merge': 'application/merge-patch+json',
    'strategic': 'application/strategic-merge-patch+json',
    'json': 'application/json-patch+json',
}
_TRIES: Final = 100


def definition() -> dict[str, Any]:
    """The CRD of Thing."""
    version = {
        'name': 'v1',
        'served': True,
        'storage': True,
        'subresources': {'status': {}},
        'schema': {'openAPIV3Schema': sequences.SCHEMA},
    }
    names = {'plural': 'things', 'kind': 'Thing'}
    return {
        'apiVersion': 'apiextensions.k8s.io/v1',
        'kind': 'CustomResourceDefinition',
        'metadata': {'name': _DEFINITION},
        'spec': {'group': 'a.example.com', 'names': names, 'scope': 'Namespaced', 'versions': [version]},
    }


def record(server: reference.Reference) -> dict[str, Any]:
    """All sequences, side by side: each second is one step of every one of them."""
    recorded: dict[str, list[Any]] = {name: [] for name in sequences.SEQUENCES}
    times: list[str] = []
    for number in range(max(map(len, sequences.SEQUENCES.values()))):
        # A step must not begin late in a second and end in the next one.
        time.sleep(1.02 - time.time() % 1)
        times.append(time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime()))
        for name, steps in sequences.SEQUENCES.items():
            if number < len(steps):
                recorded[name].append(_step(server, name, steps[number]))
    return {name: [_readable(step, times) for step in steps] for name, steps in recorded.items()}


def _step(server: reference.Reference, name: str, step: sequences.Step) -> list[Any]:
    verb, manager, body, *flags = step
    kind = sequences.SEQUENCES[name][0][2]['kind']
    path = _PLURALS[kind]
    if isinstance(body, dict) and 'metadata' in body and 'name' in body['metadata']:
        body = {**body, 'metadata': {**body['metadata'], 'name': name}}
    if 'status' in flags:
        name = f'{name}/status'
    query = f'?fieldManager={manager}{"&force=true" if "force" in flags else ""}'
    if verb == 'create':
        return list(server('POST', f'{path}{query}', body))
    if verb == 'replace':
        body['metadata']['resourceVersion'] = server('GET', f'{path}/{name}')[1]['metadata']['resourceVersion']
        return list(server('PUT', f'{path}/{name}{query}', body))
    return list(server('PATCH', f'{path}/{name}{query}', body, kind=_CONTENT[verb]))


def _readable(step: list[Any], times: list[str]) -> dict[str, Any]:
    code, answer = step
    if code >= 300:
        return {'code': code, 'message': answer['message'], 'causes': (answer.get('details') or {}).get('causes', [])}
    metadata = answer['metadata']
    for key in ('uid', 'creationTimestamp', 'namespace', 'name', 'generation'):
        metadata.pop(key, None)
    for entry in metadata.get('managedFields', ()):
        if entry.get('time', '') >= times[0]:
            entry['time'] = bisect.bisect_right(times, entry['time']) - 1
    return {'code': code, 'object': answer}


def main() -> None:
    """Record what a real API server makes of the sequences."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument('kubeconfig', type=pathlib.Path)
    server = reference.Reference(parser.parse_args().kubeconfig)
    definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
    server('DELETE', f'{definitions}/{_DEFINITION}')
    while server('POST', definitions, definition())[0] != 201:
        time.sleep(0.1)
    server('POST', '/api/v1/namespaces', {'metadata': {'name': _NAMESPACE}})
    server('POST', f'/api/v1/namespaces/{_NAMESPACE}/serviceaccounts', {'metadata': {'name': 'default'}})
    for _ in range(_TRIES):
        if server('GET', _PLURALS['Thing'])[0] == 200:
            break
        time.sleep(0.1)
    try:
        text = json.dumps(record(server), sort_keys=True)
        FILE.parent.mkdir(exist_ok=True)
        FILE.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    finally:
        server('DELETE', f'{definitions}/{_DEFINITION}')
        server('DELETE', f'/api/v1/namespaces/{_NAMESPACE}')


if __name__ == '__main__':
    main()
