"""How kopf reaches the API server: it looks once which kinds there are, and must not end the process over that.

Kopf ends itself when that look meets an answer that it does not expect. Nothing that we do depends on the look, so all
failures are waited out here, below kopf, for as long as they last.
"""

import asyncio
import logging
from collections.abc import Iterable

import aiohttp
import kopf

from jobset.kube import auth

logger = logging.getLogger(__name__)


def session(credentials: auth.Credentials, *, user_agent: str, pauses: Iterable[float]) -> kopf.AiohttpSession:
    """A login whose requests come back only with a success; ``pauses`` are the seconds between attempts, endless."""

    async def endure(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
        for pause in pauses:
            if made.closed:
                # Kopf is ending and has left this request behind: it is to end like one that was cancelled.
                raise asyncio.CancelledError
            # Tokens change, and kopf would not notice.
            request.headers.update(credentials.headers())
            try:
                response = await send(request)
                await response.read()
                if response.ok:
                    return response
                trouble = f'{response.status} {response.reason}'
            except (aiohttp.ClientError, OSError) as error:
                trouble = str(error) or type(error).__name__
            logger.warning('%s %s: %s; trying again in %s s', request.method, request.url.path, trouble, pause)
            await asyncio.sleep(pause)
        raise AssertionError('patience has no end')

    connector = aiohttp.TCPConnector(ssl=credentials.ssl or True)
    made = aiohttp.ClientSession(connector=connector, headers={'User-Agent': user_agent}, middlewares=(endure,))
    return kopf.AiohttpSession(aiohttp_session=made, server=credentials.server, default_namespace=credentials.namespace)
