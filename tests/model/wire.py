"""The controller's connection: each request may be cut, refused or repeated, and anything may happen around it."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass

from jobset.kube import errors, requests
from tests.model import api


class Crash(BaseException):
    """The controller's process has ended."""


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """How likely what goes wrong is, for each request, and how often at most in all."""

    crash: float = 0
    refused: float = 0
    lost: float = 0
    """The answer is lost: the request has been carried out, but nobody knows."""

    budget: int = 0


class Wire:
    """Carries requests to the server. ``around`` lets other things happen before and after each."""

    def __init__(
        self,
        server: api.Server,
        *,
        chance: random.Random,
        trouble: Trouble,
        around: Callable[[], None],
        check: Callable[[requests.Request], None],
        log: Callable[[str], None],
    ) -> None:
        self.trouble = trouble
        self.left = trouble.budget
        self.sent: list[requests.Request] = []
        self.refuse: Callable[[requests.Request], errors.ApiError | None] = lambda request: None
        """A fault that a test asks for: the error that a request meets before it is looked at."""

        self.lose: Callable[[requests.Request], bool] = lambda request: False
        """Another one: the answer to a request that was carried out does not come."""

        self._server = server
        self._chance = chance
        self._around = around
        self._check = check
        self._log = log

    async def send(self, request: requests.Request) -> bytes:
        """The answer of the server, if it comes."""
        self._around()
        if self._happens(self.trouble.crash):
            self._log(f'crash before {request}')
            raise Crash
        if self._happens(self.trouble.refused):
            self._log(f'refused {request}')
            raise self._chance.choice(_REFUSALS)(str(request))
        asked = self.refuse(request)
        if asked is not None:
            raise asked
        self.sent.append(request)
        self._log(str(request))
        if request.is_write:
            self._check(request)
        body = self._server.handle(request, manager='jobset')
        if self._happens(self.trouble.crash):
            self._log(f'crash after {request}')
            raise Crash
        if self.lose(request) or self._happens(self.trouble.lost):
            self._log(f'answer lost of {request}')
            raise errors.Unreachable('cut', where=str(request), sent=True)
        self._around()
        if self._chance.random() < 0.3:
            await asyncio.sleep(0)
        return body

    def _happens(self, likelihood: float) -> bool:
        if self.left <= 0 or self._chance.random() >= likelihood:
            return False
        self.left -= 1
        return True


def _server_error(where: str) -> errors.ApiError:
    return errors.ServerError(500, 'InternalError', 'try again', where=where)


def _too_many(where: str) -> errors.ApiError:
    return errors.TooManyRequests(429, 'TooManyRequests', 'slow down', where=where)


def _unreachable(where: str) -> errors.ApiError:
    return errors.Unreachable('refused', where=where, sent=False)


_REFUSALS = (_server_error, _too_many, _unreachable)
