"""Why nobody is evicted, in words and numbers."""

from collections.abc import Sequence

from jobset.scheduler.model import Run
from jobset.scheduler.preemption.trials import Trial


def hopeless(candidates: Sequence[Run], trial: Trial) -> str:
    """Why it would not fit if all ``candidates`` were gone: what is missing in sum, or that it is too scattered."""
    freed = {name: sum(column) for name, column in trial.frees(candidates).items()}
    short = [
        f'{amount} {name} missing, and the {len(candidates)} that may be evicted hold {freed.get(name, 0)}'
        for name, amount in sorted(trial.missing().items())
        if freed.get(name, 0) < amount
    ]
    return '; '.join(short) or f'no node can be emptied enough by evicting any of {len(candidates)}'


def too_many(victims: int, allowance: int) -> str:
    """Why a set of victims stays that is larger than what may still be evicted."""
    return f'{victims} would have to go, and only {allowance} more may be evicted within the hour'
