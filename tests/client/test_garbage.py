"""The garbage collector, while a lot is made."""

import contextlib
import gc

from jobset.client import garbage


def test_the_collector_rests_and_works_again() -> None:
    seen = []
    with contextlib.suppress(LookupError), garbage.left_alone():
        with garbage.left_alone():
            seen.append(gc.isenabled())
        seen.append(gc.isenabled())
        raise LookupError
    seen.append(gc.isenabled())

    assert seen == [False, False, True]
