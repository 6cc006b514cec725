"""Checks that run in the background, a few at a time, while other tests have their turn."""

import concurrent.futures
import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from tests.scenarios import endings
from tests.scenarios.space import Space

TEST: Final = 'test_sample_ends_as_its_header_says'
"""The test that asks for the results; its parameters are the samples that are to run."""

AT_ONCE: Final = 4
"""How many samples run at the same time: they share one node with everything else."""

SECONDS: Final = 540
"""How long a sample may take, with the wait for its turn."""


class Started:
    """Samples under way."""

    def __init__(self, futures: dict[str, concurrent.futures.Future[None]]) -> None:
        self._futures = futures

    def result(self, file: str) -> None:
        """Wait until a sample has been checked; raises what its check raised."""
        self._futures[file].result(SECONDS)


@contextlib.contextmanager
def begun(files: Sequence[str], space: Callable[[str], Space]) -> Iterator[Started]:
    """Begin with the samples; at the end of the block those that had no turn yet get none."""
    pool = concurrent.futures.ThreadPoolExecutor(AT_ONCE, thread_name_prefix='sample')
    try:
        yield Started({file: pool.submit(_check, file, space) for file in files})
    finally:
        pool.shutdown(cancel_futures=True)


def _check(file: str, space: Callable[[str], Space]) -> None:
    endings.CHECKS[file](space(file.removesuffix('.yaml')))
