"""Where the controller's CPU time goes: ``python -m benchmarks.controller.sampler FILE OPTIONS-OF-THE-CONTROLLER``.

Stacks are taken at every few milliseconds of CPU time, so that neither waiting nor the rest of the machine counts and
nothing is slowed down. FILE has one line a stack, outermost function first, with how often it was met: what flame
graphs are drawn of.
"""

import collections
import pathlib
import signal
import sys
import types
from collections.abc import Iterator
from typing import Final

from jobset.controller import main as controller

INTERVAL_SECONDS: Final = 0.002
"""CPU time between samples; kernels round it up to their tick."""


def main(output: pathlib.Path, arguments: list[str]) -> int:
    """Run the controller to its end, and write what was seen."""
    stacks: collections.Counter[tuple[str, ...]] = collections.Counter()

    def sample(_: int, frame: types.FrameType | None) -> None:
        stacks[tuple(_names(frame))[::-1]] += 1

    signal.signal(signal.SIGPROF, sample)
    signal.setitimer(signal.ITIMER_PROF, INTERVAL_SECONDS, INTERVAL_SECONDS)
    try:
        return controller.main(arguments)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        output.write_text(''.join(f'{";".join(stack)} {count}\n' for stack, count in stacks.most_common()))


def _names(frame: types.FrameType | None) -> Iterator[str]:
    """The functions of a stack, innermost first."""
    while frame is not None:
        module = frame.f_globals.get('__name__', '?')
        yield f'{module}.{frame.f_code.co_qualname}'
        frame = frame.f_back


if __name__ == '__main__':
    sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2:]))
