"""One pass over one Job: what was observed in, a :mod:`plan` out. The order of the policies is decided here.

Source: behaviour of the Job controller of kube-controller-manager 1.37, recorded in ``tests/local/jobs/recorded.json``.
"""

import datetime
from typing import Final

import msgspec

from jobset.kube.events import EventType
from jobset.local import objects
from jobset.local.jobs import backoff, claims, conditions, counting, endings, population, suspension
from jobset.local.jobs.plan import Event, Plan, Undone
from jobset.local.jobs.types import Condition, Mode, Status
from jobset.local.jobs.view import Facts, View

NOTHING: Final = Plan()
DONE: Final = Undone()


def sync(facts: Facts, undone: Undone = DONE) -> Plan:
    """What to do about a Job.

    ``undone`` tells how much of the same plan could not be done: the new one is to say what then is true.
    """
    job = facts.job
    if job.status.is_finished or not job.is_ours:
        return NOTHING
    if job.spec.completion_mode not in (None, *Mode):
        note = 'Skipped Job sync because completion mode is unknown'
        return Plan(events=(Event(EventType.WARNING, 'UnknownCompletionMode', note),))
    adopt, disown = claims.to_adopt(facts), claims.to_disown(facts)
    if adopt or disown:
        # All numbers change with it, so they wait for the pass that follows.
        return Plan(adopt=adopt, disown=disown, record=facts.record)
    return _decide(View(facts), undone)


def _decide(view: View, undone: Undone) -> Plan:
    job, now = view.job, view.facts.now
    record = view.facts.record.after(succeeded=view.new_succeeded, failed=view.new_failed)
    interim = endings.interim(view)
    change = _change(view, interim, record)
    deleted = frozenset(removal.pod.uid for removal in change.delete) - frozenset(undone.deleted)
    active = len(view.active) - len(deleted) + len(change.create) - undone.created
    if interim is not None and undone.deleted:
        # Not before all pods were told.
        interim = None
    elif interim is None and _is_complete(view, active):
        interim = endings.all_done(now)

    events: list[Event] = []
    status = counting.summed(job.status, view, released=frozenset())
    if status.start_time is None and not job.spec.suspend:
        status = msgspec.structs.replace(status, start_time=objects.stamp(now))
    if interim is None and not job.is_deleted:
        status, told = suspension.applied(status, suspend=bool(job.spec.suspend), now=now)
        events += told
    status = msgspec.structs.replace(
        status,
        active=active,
        ready=sum(pod.is_ready for pod in view.active if pod.uid not in deleted),
        terminating=len(view.terminating) + len(deleted),
        conditions=conditions.put(status.conditions or (), interim) if interim is not None else status.conditions,
    )

    stripped = frozenset(removal.pod.uid for removal in change.delete if not removal.is_counted)
    count = counting.count(view, interim, without=stripped)
    noted = counting.noted(status, view, count)
    released = frozenset(pod.uid for pod in count.release)
    last = counting.summed(noted, view, released=released)
    if interim is not None and not count.is_partial and _may_finish(last):
        last, told = _finished(last, view, interim)
        events += told
    return Plan(
        delete=change.delete,
        create=change.create,
        noted=noted if noted != job.status else None,
        record=view.facts.record.after(
            succeeded=[pod for pod in view.new_succeeded if pod.uid in released],
            failed=[pod for pod in view.new_failed if pod.uid in released],
        ),
        release=tuple(count.release),
        status=last if last != noted else None,
        events=tuple(events),
        again=None if interim is not None else _again(view, status, change.pause),
        is_partial=count.is_partial,
    )


def _change(view: View, interim: Condition | None, record: backoff.Record) -> population.Change:
    if interim is not None:
        return population.clear(view, is_counted=True)
    if view.job.is_deleted:
        return population.NONE
    if view.job.spec.suspend:
        return population.clear(view, is_counted=False)
    return population.adjust(view, record)


def _is_complete(view: View, active: int) -> bool:
    """Whether nothing is left to do, and nobody at it."""
    if view.job.spec.completions is None:
        return view.succeeded > 0 and active == 0
    return view.succeeded >= view.completions and active == 0


def _may_finish(status: Status) -> bool:
    """Whether all pods are counted and have ended, so that the counters are final."""
    left = status.uncounted
    return not left.succeeded and not left.failed and not status.terminating


def _finished(status: Status, view: View, interim: Condition) -> tuple[Status, list[Event]]:
    """The status of a Job that has ended, and what is told about it."""
    final = conditions.final(interim, view.facts.now)
    ended = msgspec.structs.replace(status, conditions=conditions.put(status.conditions or (), final))
    if final.type == conditions.FAILED:
        return ended, [Event(EventType.WARNING, final.reason, final.message)]
    told = [Event(EventType.NORMAL, 'Completed', 'Job completed')]
    if view.job.spec.completions is not None and status.succeeded > view.completions:
        note = 'Too many succeeded pods running after completion count reached'
        told.insert(0, Event(EventType.WARNING, 'TooManySucceededPods', note))
    return msgspec.structs.replace(ended, completion_time=final.last_transition_time), told


def _again(view: View, status: Status, pause: float | None) -> datetime.datetime | None:
    """When time alone will change what is to be done."""
    moments = [] if pause is None else [view.facts.now + datetime.timedelta(seconds=pause)]
    end = endings.deadline(view.job, status)
    if end is not None:
        moments.append(end)
    return min(moments, default=None)
