"""Records what a real API server says of the cases: ``python -m tests.local.schemas.record KUBECONFIG``.

It works in a namespace and with a CRD of its own and removes both. Nothing is stored but what updates start from.
"""

import argparse
import copy
import gzip
import json
import pathlib
import time
from typing import Any, Final

from tests.local import reference
from tests.local.schemas import cases

FILE: Final = pathlib.Path(__file__).with_name('data') / 'answers.json.gz'
_NAMESPACE: Final = 'h-a-judged'
_DEFINITIONS: Final = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
_THINGS: Final = f'/apis/a.example.com/v1/namespaces/{_NAMESPACE}/judgeds'
_NAME: Final = 'judgeds.a.example.com'
_TABLE: Final = 'application/json;as=Table;v=v1;g=meta.k8s.io'
_TRIES: Final = 200


def definition() -> dict[str, Any]:
    """The CRD of the things that are judged."""
    made = cases.definition(cases.THING, subresources={'status': {}}, additionalPrinterColumns=cases.COLUMNS)
    made['metadata']['name'] = _NAME
    made['spec']['names'] = {'plural': 'judgeds', 'kind': 'Judged'}
    return made


def thing(spec: Any, **metadata: Any) -> dict[str, Any]:
    """One of them; a spec that has no name gets one."""
    whole = {'name': 'abc', **spec} if isinstance(spec, dict) else spec
    return {'apiVersion': 'a.example.com/v1', 'kind': 'Judged', 'metadata': {'name': 'o', **metadata}, 'spec': whole}


class _Recorder:
    def __init__(self, server: reference.Reference) -> None:
        self._server = server

    def all(self) -> dict[str, Any]:
        jobs = f'/apis/batch/v1/namespaces/{_NAMESPACE}/jobs'
        strict = '?dryRun=All&fieldValidation=Strict'
        made: dict[str, Any] = {
            'jobs': [self._ask('POST', f'{jobs}{strict}', cases.changed(*change)) for change in cases.CHANGES],
            'definitions': {
                name: self._ask('POST', f'{_DEFINITIONS}?dryRun=All', each) for name, each in cases.DEFINITIONS.items()
            },
        }
        before = definition()
        before['spec']['versions'][0]['schema']['openAPIV3Schema'] = {
            'type': 'object',
            'x-kubernetes-preserve-unknown-fields': True,
        }
        self._define(before)
        old = thing(cases.BEFORE, name='old')
        self._until(lambda: self._server('POST', _THINGS, old)[0] == 201)
        current = self._server('GET', f'{_DEFINITIONS}/{_NAME}')[1]
        current['spec'] = definition()['spec']
        self._server('PUT', f'{_DEFINITIONS}/{_NAME}', current)
        wrong = thing({'i': 'x'})
        self._until(lambda: self._server('POST', f'{_THINGS}?dryRun=All', wrong)[0] == 422)
        row = self._server('POST', _THINGS, thing(cases.ROW, name='row'))
        assert row[0] == 201, row
        return made | {
            'specs': [self._ask('POST', f'{_THINGS}?dryRun=All', thing(spec)) for spec in cases.SPECS],
            'unknown': [self._ask('POST', f'{_THINGS}{strict}', thing(spec)) for spec in cases.SPECS],
            'metadata': [self._ask('POST', f'{_THINGS}{strict}', thing({}, **each)) for each in cases.METADATA],
            'updates': [self._update('old', spec) for spec in cases.UPDATES],
            'table': self._server('GET', f'{_THINGS}/row', accept=_TABLE)[1],
            'established': self._server('GET', f'{_DEFINITIONS}/{_NAME}')[1]['status'],
        }

    def _define(self, made: dict[str, Any]) -> None:
        self._server('DELETE', f'{_DEFINITIONS}/{_NAME}')
        self._until(lambda: self._server('POST', _DEFINITIONS, made)[0] == 201)

    def _until(self, condition: Any) -> None:
        for _ in range(_TRIES):
            if condition():
                return
            time.sleep(0.1)
        raise TimeoutError

    def _ask(self, method: str, path: str, body: Any, kind: str = 'application/json') -> dict[str, Any]:
        code, answer = self._server(method, path, copy.deepcopy(body), kind=kind)
        if code < 300:
            return {'code': code, 'spec': answer['spec'] if answer['kind'] == 'Judged' else {}}
        return {'code': code, 'message': answer['message'], 'causes': (answer.get('details') or {}).get('causes', [])}

    def _update(self, name: str, spec: Any) -> dict[str, Any]:
        return self._ask('PATCH', f'{_THINGS}/{name}?dryRun=All', {'spec': spec}, 'application/merge-patch+json')


def main() -> None:
    """Record what a real API server says of the cases."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument('kubeconfig', type=pathlib.Path)
    server = reference.Reference(parser.parse_args().kubeconfig)
    server('POST', '/api/v1/namespaces', {'metadata': {'name': _NAMESPACE}})
    try:
        text = json.dumps(_Recorder(server).all(), sort_keys=True)
        FILE.parent.mkdir(exist_ok=True)
        FILE.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    finally:
        server('DELETE', f'{_DEFINITIONS}/{_NAME}')
        server('DELETE', f'/api/v1/namespaces/{_NAMESPACE}')


if __name__ == '__main__':
    main()
