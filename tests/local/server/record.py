"""Records what a real API server answers to the requests of :mod:`table`.

::

    KUBECONFIG=… python -m tests.local.server.record

The server needs no nodes and no controllers; the namespace ``table`` must not be there.
"""

import asyncio
import json
import ssl
import sys
from dataclasses import asdict
from pathlib import Path

import aiohttp

from jobset.kube import auth
from tests.local.server import table

RECORDED = Path(__file__).with_name('recorded.json')


async def main() -> None:
    """Asks all, writes the file."""
    credentials = await auth.load()
    assert isinstance(credentials.ssl, ssl.SSLContext)
    connector = aiohttp.TCPConnector(ssl=credentials.ssl)
    async with aiohttp.ClientSession(connector=connector, headers=credentials.headers()) as http:

        async def ask(step: table.Step) -> table.Answered:
            headers = {'Accept': step.accept, 'Content-Type': step.media, 'User-Agent': 'table/1'}
            url = credentials.server.rstrip('/') + step.target
            async with http.request(step.method, url, data=step.data or None, headers=headers) as answer:
                return table.plain(answer.status, await answer.read(), answer.headers.getall('Warning', []))

        namespace = {'metadata': {'name': table.NAMESPACE}}
        made = await ask(table.Step('POST', '/api/v1/namespaces', namespace))
        assert made.code == 201, made
        found: list[tuple[str, dict[str, object]]] = []
        try:
            for step in table.STEPS:
                # What a real server serves of a new definition takes it a moment.
                if step.target.startswith('/apis/table.example.com') and not any(
                    'table.example' in t for t, _ in found[-1:]
                ):
                    await _served(ask)
                answered = await ask(step)
                found.append((step.target, asdict(answered)))
        finally:
            await ask(table.Step('DELETE', f'/api/v1/namespaces/{table.NAMESPACE}'))
            await ask(table.Step('DELETE', f'{table.CRDS}/widgets.table.example.com'))
    lines = [json.dumps(answered, sort_keys=True) for _, answered in found]
    RECORDED.write_text('[\n' + ',\n'.join(lines) + '\n]\n')
    sys.stdout.write(f'{len(lines)} answers\n')


async def _served(ask: object) -> None:
    assert callable(ask)
    async with asyncio.timeout(20):
        while (await ask(table.Step('GET', table.WIDGETS))).code != 200:
            await asyncio.sleep(0.1)
        # Two in a row: it is handed over between two handlers at first.
        await asyncio.sleep(1)


if __name__ == '__main__':
    asyncio.run(main())
