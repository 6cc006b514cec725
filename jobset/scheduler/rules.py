"""What whoever runs the scheduler may choose."""

from typing import Final

import msgspec

from jobset.scheduler.topology.requests import Problem, Profile


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """How to decide, beside what queues say."""

    uses_priority: bool = True
    """Off: first come, first served."""
    preempts: bool = True
    """Off: nobody is evicted to make room."""
    evicts_lowest_first: bool = False
    """Whether the lowest priorities go, however many that takes; off: as few JobSets as possible go."""
    backfills: bool = True
    """Whether big gangs get a reservation, and who would not delay it passes. Off: who fits starts."""
    reservations: int = 1
    """How many JobSets may have a reservation in one cycle."""
    shares_fairly: bool = False
    """Whether queues take turns by their share; off: who borrows least comes first, then priority."""
    promise_seconds: float = 600
    """How long freed room waits for whom it was freed."""
    profile: Profile = Profile.MIXED
    parity: bool = False
    """Place as Kueue does, also where that is known to be worse."""
    max_victims_per_hour: int | None = None
    """Evictions of the whole scheduler."""
    max_evictions: int | None = None
    """Of one JobSet in a window of ``eviction_window_seconds``."""
    eviction_window_seconds: float = 3600
    exempt_priority: int | None = None
    """From this priority on, a JobSet may evict others before their minimum run time is over."""
    bonus_per_eviction: int = 0
    """What each eviction adds to the priority of a JobSet when it is considered as a victim again."""
    repair_waits: bool = True
    """A gang that lost a node and finds no other one waits with those that are left; off: it is evicted at once."""


DEFAULT: Final = Rules()


def problems(rules: Rules) -> tuple[Problem, ...]:
    """Settings that contradict each other or make no sense."""
    found = []
    if rules.preempts and not rules.uses_priority:
        found.append(Problem('preempts', 'preemption without priority would evict nobody: turn on usesPriority, too'))
    found += [
        Problem(path, f'{value} is negative; give 0 or more')
        for path, value in (
            ('reservations', rules.reservations),
            ('promiseSeconds', rules.promise_seconds),
            ('evictionWindowSeconds', rules.eviction_window_seconds),
            ('bonusPerEviction', rules.bonus_per_eviction),
            ('maxVictimsPerHour', rules.max_victims_per_hour or 0),
            ('maxEvictions', rules.max_evictions or 0),
        )
        if value < 0
    ]
    return tuple(found)
