"""The garbage collector of Python, while a lot is made that stays."""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def left_alone() -> Iterator[None]:
    """Looks for no unreachable objects meanwhile.

    A large manifest becomes a million objects, all of which stay. To look through them again and again takes five times
    as long as to make them.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
