"""The embedded API server answers as kube-apiserver does: codes, causes, warnings, and what is stored."""

import os
from typing import Final

import pytest

from e2e.differential import running, sides, writes
from e2e.kubectl import control_plane

IN_FULL: Final = bool(os.environ.get('JOBSET_SOAK'))
SEED: Final = os.environ.get('JOBSET_SEED', 'jobset')
COUNT: Final = int(os.environ.get('JOBSET_WRITES', '10000' if IN_FULL else '600'))
SECONDS: Final = 3600 if IN_FULL else 300
SHOWN: Final = 40

NO_CONTROLLERS: Final = '--kcm-arg=--controllers=serviceaccount-controller'
"""Nothing but requests may change objects here: not even a garbage collector."""


@pytest.mark.timeout(SECONDS)
async def test_same_answers() -> None:
    with control_plane('differential', NO_CONTROLLERS) as kubectl:
        async with sides.both(kubectl.kubeconfig) as (real, ours):
            outcome = await running.Runner(real, ours).run(writes.stories(SEED), COUNT)

    print(outcome.text())
    assert not outcome.unknown, '\n'.join([outcome.text(), *outcome.unknown[:SHOWN]])
