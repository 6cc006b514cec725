"""The groups' part of a pass: what it adds to the plan, in the order in which :mod:`jobset.core.reconcile` asks."""

import dataclasses

from jobset.api import features, gangs, types
from jobset.core import children, family, plan, startup, status, waiting
from jobset.core.groups import decisions, explaining, observed


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outcome:
    """What groups add to a plan."""

    groups: plan.Groups = plan.NO_GROUPS
    delete: tuple[plan.JobRef, ...] = ()
    """Suspended Jobs to be made anew, in the group that they should be in."""

    resume: tuple[plan.Resumption, ...] = ()
    sorts: tuple[gangs.Gang, ...] = ()
    waits: waiting.Waits = waiting.NOTHING


class Turn:
    """One pass of one set that has not ended."""

    def __init__(
        self, jobset: types.JobSet, gates: features.FeatureGates, seen: observed.Seen, draft: status.Draft
    ) -> None:
        self._jobset = jobset
        self._seen = seen
        self._draft = draft
        self._wanted = decisions.wanted(jobset, gates, seen)
        self._held = decisions.held(jobset, self._wanted, seen)

    @property
    def is_held(self) -> bool:
        """Whether no Job may be made or resumed yet."""
        return self._held is not None

    def take(
        self,
        kin: family.Family,
        cohort: family.Cohort,
        *,
        create: tuple[children.Child, ...],
        resume: tuple[plan.Resumption, ...],
    ) -> Outcome:
        """What is to be done about groups where the pass makes and resumes these Jobs."""
        if not self._wanted.is_asked:
            return Outcome(resume=resume)
        if self._held is not None:
            return Outcome(waits=explaining.held(self._held))
        decisions.note_fault(self._draft, self._wanted, self._seen)
        used = self._wanted.sorts if create else ()
        if self._jobset.suspended:
            return Outcome(groups=decisions.all_gone(self._seen), resume=resume, sorts=used)
        now = decisions.Pass(
            jobset=self._jobset,
            sorts=self._wanted.sorts,
            seen=self._seen,
            kin=kin,
            cohort=cohort,
            create=create,
            resume=resume,
            open=startup.open_positions(self._jobset, cohort),
        )
        stale = decisions.stale(now)
        kept = tuple(one for one in resume if one.job not in stale) if stale else resume
        now = dataclasses.replace(now, resume=kept)
        if not self._wanted.sorts:
            return Outcome(delete=stale, resume=kept)
        needs = decisions.needed(now)
        waits = explaining.explain(self._jobset, needs, self._seen, self._draft.now)
        return Outcome(groups=decisions.decide(now, needs), delete=stale, resume=kept, sorts=used, waits=waits)


def ended(jobset: types.JobSet, gates: features.FeatureGates, seen: observed.Seen) -> plan.Groups:
    """What becomes of the groups of a set that has ended: they hold claims for devices, and go."""
    if not gangs.gangs(jobset, gates):
        return plan.NO_GROUPS
    return decisions.all_gone(seen)
