"""Asks a container what its probes and hooks want to know: by a command, over HTTP, over TCP."""

import asyncio
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from jobset.local.node import probing, processes
from jobset.local.node.model import Spec

_LONGEST: Final = 10 << 10
"""Bytes of an answer that are kept."""

_LONGEST_OUTPUT: Final = 64 << 20


async def ask(  # noqa: PLR0911 - one for each kind of question
    question: Spec,
    container: Spec,
    process: processes.Process,
    *,
    ip: str,
    output: Path,
    seconds: float,
) -> tuple[bool, str]:
    """One answer, and what to say when it is bad. Never fails."""
    try:
        match probing.handler(question):
            case 'exec':
                return await _run(question['exec'], process, output, seconds)
            case 'httpGet':
                async with asyncio.timeout(seconds):
                    return await _get(question['httpGet'], container, ip)
            case 'tcpSocket':
                async with asyncio.timeout(seconds):
                    return await _connect(question['tcpSocket'], container, ip)
            case 'grpc':
                return False, 'grpc probes are not supported by this node: use exec, httpGet or tcpSocket'
            case _:
                return True, ''
    except TimeoutError:
        return False, f'no answer within {seconds:g}s'
    except (OSError, ValueError) as error:
        return False, str(error)


async def execute(command: Sequence[str], process: processes.Process, output: Path) -> tuple[int, str]:
    """Runs a command to its end; its exit code and output, of which a part is left out when it is very long."""
    _begin(output)
    code = await process.run(command, output=output, seconds=None)
    return 0 if code is None else code, _end(output, longest=_LONGEST_OUTPUT)


async def _run(action: Spec, process: processes.Process, output: Path, seconds: float) -> tuple[bool, str]:
    _begin(output)
    code = await process.run(action.get('command') or [], output=output, seconds=seconds)
    text = _end(output, longest=_LONGEST)
    if code is None:
        return False, f'command timed out after {seconds:g}s'
    return code == 0, text or f'command exited with {code}'


async def _connect(action: Spec, container: Spec, ip: str) -> tuple[bool, str]:
    port = probing.port(action['port'], container)
    _, writer = await asyncio.open_connection(action.get('host') or ip, port)
    writer.close()
    return True, ''


async def _get(action: Spec, container: Spec, ip: str) -> tuple[bool, str]:
    host, port = action.get('host') or ip, probing.port(action['port'], container)
    context: ssl.SSLContext | None = None
    if action.get('scheme') == 'HTTPS':
        # A probe asks whether somebody answers, not who.
        context = ssl._create_unverified_context()  # noqa: S323
    reader, writer = await asyncio.open_connection(host, port, ssl=context)
    try:
        headers = {'Host': f'{host}:{port}', 'User-Agent': 'kube-probe/1.37', 'Accept': '*/*', 'Connection': 'close'}
        headers |= {header['name']: header['value'] for header in action.get('httpHeaders') or ()}
        path = action.get('path') or '/'
        lines = [f'GET {path} HTTP/1.1', *(f'{name}: {value}' for name, value in headers.items()), '', '']
        writer.write('\r\n'.join(lines).encode())
        await writer.drain()
        words = (await reader.readline()).split(maxsplit=2)
    finally:
        writer.close()
    if len(words) < 2 or not words[1].isdigit():
        return False, 'the answer is not HTTP'
    status = int(words[1])
    return 200 <= status < 400, f'HTTP probe failed with statuscode: {status}'


def _begin(output: Path) -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    output.unlink(missing_ok=True)


def _end(output: Path, *, longest: int) -> str:
    """What a command has said."""
    if not output.exists():
        return ''
    with output.open('rb') as file:
        text = file.read(longest).decode(errors='replace')
    output.unlink()
    return text
