"""Doing one thing over and over: at an even pace while it works, more and more slowly while it does not."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from jobset.kube import backoff

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Pace:
    """When to look again. All in seconds."""

    interval: float = 15
    """After a success, give or take a fifth.

    It is the time that webhooks fail when somebody installs their configurations anew, without our authority, while
    three small reads are all that a look costs.
    """

    first_retry: float = 1
    """After the first failure; doubled for each further one."""

    longest_retry: float = 60

    patience: float = 60
    """How long one look may take."""


Sleep = Callable[[float], Awaitable[None]]


async def keep(
    look: Callable[[], Awaitable[None]],
    *,
    what: str,
    expected: tuple[type[Exception], ...],
    pace: Pace,
    sleep: Sleep = asyncio.sleep,
) -> None:
    """Await ``look`` again and again, until cancelled. ``expected`` are its failures that may pass; others come out."""
    retry = backoff.Backoff(base=pace.first_retry, cap=pace.longest_retry)
    while True:
        try:
            async with asyncio.timeout(pace.patience):
                await look()
        except expected as error:
            pause = retry.next()
            logger.warning('%s: %s; trying again in %.0f s', what, error, pause)
        except TimeoutError:
            pause = retry.next()
            logger.warning('%s: not done within %g s; trying again in %.0f s', what, pace.patience, pause)
        else:
            retry.reset()
            # Replicas that started together spread.
            pause = pace.interval * random.uniform(0.8, 1.2)  # noqa: S311
        await sleep(pause)
