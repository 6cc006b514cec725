"""Record what a real API server answers to the written inputs.

    python -m tests.local.kinds.record <kubeconfig>

Works in a namespace of its own, which is deleted in the end. One cluster-wide object is made: the priority class
``h-c-high``.
"""

import argparse
import base64
import datetime
import http.client
import json
import pathlib
import ssl
import tempfile
import time
from typing import Any, Final

from jobset.local import objects
from jobset.local.objects import Object
from tests.local.kinds import answers, inputs, tables

FILE: Final = pathlib.Path(__file__).parent / 'recorded.json'
GONE_SECONDS: Final = 20
ATTEMPTS: Final = 5
TABLE: Final = 'application/json;as=Table;v=v1;g=meta.k8s.io'


class Server:
    """A plain client of one API server."""

    def __init__(self, kubeconfig: pathlib.Path) -> None:
        config = json.loads(kubeconfig.read_text())
        cluster, user = config['clusters'][0]['cluster'], config['users'][0]['user']
        context = ssl.create_default_context(cadata=_decoded(cluster['certificate-authority-data']).decode())
        with tempfile.NamedTemporaryFile() as certificate, tempfile.NamedTemporaryFile() as key:
            certificate.write(_decoded(user['client-certificate-data']))
            key.write(_decoded(user['client-key-data']))
            certificate.flush()
            key.flush()
            context.load_cert_chain(certificate.name, key.name)
        self._connection = http.client.HTTPSConnection(cluster['server'].removeprefix('https://'), context=context)

    def __call__(
        self, method: str, path: str, body: Any = None, *, accept: str = 'application/json'
    ) -> tuple[int, Object]:
        headers = {'Content-Type': 'application/json', 'Accept': accept}
        text = None if body is None else json.dumps(body)
        for attempt in range(ATTEMPTS):
            try:
                self._connection.request(method, path, text, headers)
                answer = self._connection.getresponse()
                break
            except (ConnectionError, http.client.HTTPException):
                # A server ends connections now and then, between two requests.
                self._connection.close()
                if attempt == ATTEMPTS - 1:
                    raise
                time.sleep(0.5)
        return answer.status, json.loads(answer.read())


def _decoded(text: str) -> bytes:
    return base64.b64decode(text)


def collection(body: Object, kind: str) -> str:
    """The path of the collection that the object belongs to."""
    plural, _, group = kind.partition('.')
    version = body['apiVersion'].rpartition('/')[2]
    root = f'/apis/{group}/{version}' if group else f'/api/{version}'
    namespace = body['metadata'].get('namespace')
    return f'{root}/namespaces/{namespace}/{plural}' if namespace else f'{root}/{plural}'


def ask(server: Server, given: inputs.Input) -> Object:
    """The answer to one input."""
    path = collection(given.body, given.kind)
    if given.change is None:
        return answers.tidy(*server('POST', f'{path}?dryRun=All', given.body))
    code, stored = server('POST', path, given.body)
    if code != 201:
        return answers.tidy(code, stored)
    item = f'{path}/{stored["metadata"]["name"]}'
    try:
        if given.status:
            code, stored = server('PUT', f'{item}/status', inputs.edited(stored, given.status))
            if code != 200:
                return answers.tidy(code, stored)
        changed = inputs.edited(stored, given.change)
        target = f'{item}/{given.subresource}' if given.subresource else item
        return answers.tidy(*server('PUT', f'{target}?dryRun=All', changed))
    finally:
        _delete(server, item)


def show(server: Server, given: inputs.Input) -> Object | None:
    """The row of one object; None when there can be no such object."""
    path = collection(given.body, given.kind)
    code, stored = server('POST', path, given.body)
    if code != 201:
        return None
    item = f'{path}/{stored["metadata"]["name"]}'
    try:
        if given.change:
            server('PUT', f'{item}/{given.subresource}', inputs.edited(stored, given.change))
        _, stored = server('GET', item)
        _, table = server('GET', item, accept=TABLE)
        now = objects.stamp(datetime.datetime.now(datetime.UTC))
    finally:
        _delete(server, item)
    stored['metadata'].pop('managedFields', None)
    columns = [[each[key] for key in ('name', 'type', 'format', 'priority')] for each in table['columnDefinitions']]
    return {'object': stored, 'now': now, 'columns': columns, 'cells': table['rows'][0]['cells']}


def _delete(server: Server, item: str) -> None:
    server('DELETE', f'{item}?gracePeriodSeconds=0&propagationPolicy=Background')
    end = time.monotonic() + GONE_SECONDS
    while True:
        code, stored = server('GET', item)
        if code == 404:
            return
        if stored['metadata'].get('finalizers'):
            stored['metadata'].pop('finalizers')
            server('PUT', item, stored)
        if time.monotonic() > end:
            raise TimeoutError(f'{item} does not go away')


def prepare(server: Server) -> None:
    """What the inputs refer to."""
    server('POST', '/api/v1/namespaces', {'metadata': {'name': inputs.NAMESPACE}})
    for made in answers.PRESENT:
        kind = made.kind
        server('POST', collection(made.body, kind), made.body)
    end = time.monotonic() + GONE_SECONDS
    while server('GET', f'/api/v1/namespaces/{inputs.NAMESPACE}/serviceaccounts/default')[0] != 200:
        if time.monotonic() > end:
            raise TimeoutError('no default service account')
        time.sleep(0.1)


def main() -> None:
    """Ask, and write down the answers."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument('kubeconfig', type=pathlib.Path)
    server = Server(parser.parse_args().kubeconfig)
    prepare(server)
    try:
        recorded = {given.name: ask(server, given) for given in inputs.written()}
        shown = {given.name: show(server, given) for given in tables.cases()}
    finally:
        server('DELETE', f'/api/v1/namespaces/{inputs.NAMESPACE}')
        server('DELETE', '/apis/scheduling.k8s.io/v1/priorityclasses/h-c-high')
    _write(FILE, recorded)
    _write(tables.FILE, {name: row for name, row in shown.items() if row is not None})


def _write(path: pathlib.Path, entries: dict[str, Any]) -> None:
    """One entry a line."""
    lines = (f'{json.dumps(name)}: {json.dumps(entry, sort_keys=True)}' for name, entry in sorted(entries.items()))
    path.write_text('{\n' + ',\n'.join(lines) + '\n}\n')


if __name__ == '__main__':
    main()
