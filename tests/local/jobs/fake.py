"""A stage without a server: as much of one as plans of the Job controller need, in time that the story makes pass."""

import copy
import datetime
import itertools
from typing import Any, Final

import msgspec

from jobset.local import objects
from jobset.local.jobs import backoff, claims, plan, sync, templates, types, view
from tests.local.jobs.narration import FINALIZER, Narrator, Object
from tests.local.jobs.stories import Story

STEP_SECONDS: Final = 3
"""How long a step takes: about as long as when it was recorded."""

_JOB: Final = msgspec.json.Decoder(types.Job)
_POD: Final = msgspec.json.Decoder(types.Pod)


class Fake:
    """Plays one story: every plan is carried out as a whole, and a fixed point is sought after each step."""

    def __init__(self, story: Story, job: Object) -> None:
        self.narrator = Narrator()
        self.plans: list[plan.Plan] = []
        self._story = story
        self._time = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
        self._numbers = itertools.count()
        self._events: list[tuple[str, int, str, str, str]] = []
        self._pods: dict[str, Object] = {}
        self._backoff = backoff.NONE
        self._template = job
        self._job: Object | None = None

    async def play(self) -> Object:
        """What happens in the story."""
        if self._story.before is not None:
            self._add_pod(copy.deepcopy(self._story.before))
        job: Object = msgspec.json.decode(msgspec.json.encode(self._template).replace(b'<uid>', b'uid-of-job'))
        job['metadata'] |= {'namespace': 'fake', 'uid': 'uid-of-job', 'creationTimestamp': self._stamp()}
        self._set_job(job)
        moments = [{'after': 'create'} | self._moment()]
        for step in self._story.steps:
            await step.do(self)
            moments.append({'after': str(step)} | self._moment())
        told: Object = {'moments': moments}
        if self._story.shows_bodies:
            told['bodies'] = dict(sorted(self.narrator.bodies.items()))
        return told

    # What a story does.

    def now(self) -> datetime.datetime:
        return self._time

    async def patch_job(self, patch: Object) -> None:
        assert self._job is not None
        self._set_job(_merged(self._job, patch))

    async def delete_job(self, propagation: str) -> None:
        assert self._job is not None
        if propagation == 'Foreground':
            metadata = {'deletionTimestamp': self._stamp(), 'finalizers': ['foregroundDeletion']}
            self._set_job(_merged(self._job, {'metadata': metadata}))
            self._work()
        else:
            self._set_job(None)
        self._collect(orphan=propagation == 'Orphan')

    async def patch_pod(self, name: str, patch: Object, subresource: str = '') -> None:
        self._set_pod(_merged(self._pods[name], patch))

    async def bind(self, name: str, node: str) -> None:
        self._set_pod(_merged(self._pods[name], {'spec': {'nodeName': node}}))

    async def delete_pod(self, name: str, *, grace: int | None) -> None:
        pod = self._pods[name]
        is_held = 'nodeName' in pod['spec'] and pod.get('status', {}).get('phase') not in ('Succeeded', 'Failed')
        grace = (30 if is_held else 0) if grace is None else grace
        stamp = objects.stamp(self._time + datetime.timedelta(seconds=grace))
        self._set_pod(_merged(pod, {'metadata': {'deletionTimestamp': stamp, 'deletionGracePeriodSeconds': grace}}))

    async def wait(self, seconds: float) -> None:
        self._pass(seconds)

    # What the server and its other controllers do.

    def _moment(self) -> Object:
        self._pass(STEP_SECONDS)
        return self.narrator.moment(self._events)

    def _pass(self, seconds: float) -> None:
        end = self._time + datetime.timedelta(seconds=seconds)
        while (again := self._work()) is not None and again <= end:
            self._time = max(again, self._time + datetime.timedelta(milliseconds=1))
        self._time = end
        self._work()

    def _set_job(self, job: Object | None) -> None:
        self._job = job
        self.narrator.saw_job(job)

    def _add_pod(self, pod: Object) -> None:
        number = next(self._numbers)
        pod['metadata'] |= {'uid': f'uid-{number:04}', 'creationTimestamp': self._stamp()}
        pod['metadata'].setdefault('namespace', 'fake')
        pod['status'] = {'phase': 'Pending'}
        self._set_pod(pod)

    def _set_pod(self, pod: Object) -> None:
        metadata = pod['metadata']
        is_gone = metadata.get('deletionGracePeriodSeconds') == 0 and not metadata.get('finalizers')
        if is_gone:
            self._pods.pop(metadata['name'], None)
        else:
            self._pods[metadata['name']] = pod
        self.narrator.saw_pod(pod, gone=is_gone)
        if self._job is not None and 'deletionTimestamp' in self._job['metadata'] and not self._owned():
            self._set_job(None)

    def _owned(self) -> list[Object]:
        return [pod for pod in self._pods.values() if pod['metadata'].get('ownerReferences')]

    def _collect(self, *, orphan: bool) -> None:
        for pod in self._owned():
            if orphan:
                self._set_pod(_merged(pod, {'metadata': {'ownerReferences': None}}))
            elif 'deletionTimestamp' not in pod['metadata']:
                self._delete(pod['metadata']['name'])

    def _delete(self, name: str) -> None:
        coroutine = self.delete_pod(name, grace=None)
        try:
            coroutine.send(None)
        except StopIteration:
            return
        raise AssertionError('a fake never waits')

    # What the controller does.

    def _work(self) -> datetime.datetime | None:
        """Makes passes until nothing is left to do; the time at which there is, again."""
        for _ in range(50):
            wanted = self._plan()
            if wanted.is_empty:
                self._sweep()
                return wanted.again
            self.plans.append(wanted)
            self._carry_out(wanted)
        raise AssertionError('passes do not come to an end')

    def _plan(self) -> plan.Plan:
        if self._job is None:
            return sync.NOTHING
        pods = [_POD.decode(msgspec.json.encode(pod)) for pod in self._pods.values()]
        facts = view.Facts(
            job=_JOB.decode(msgspec.json.encode(self._job)),
            pods=tuple(pod for pod in pods if pod.metadata.controller is not None),
            strangers=tuple(pod for pod in pods if pod.metadata.controller is None),
            record=self._backoff,
            now=self._time,
        )
        return sync.sync(facts)

    def _carry_out(self, wanted: plan.Plan) -> None:
        assert self._job is not None
        job = _JOB.decode(msgspec.json.encode(self._job))
        for pod in wanted.adopt:
            finalizers = [*(pod.metadata.finalizers or ()), FINALIZER]
            self._patch(pod, {'ownerReferences': [templates.owner(job)], 'finalizers': finalizers})
        for pod in wanted.disown:
            self._patch(pod, {'ownerReferences': None, 'finalizers': None})
        for removal in wanted.delete:
            if not removal.is_counted:
                self._release(removal.pod)
            self._delete(removal.pod.metadata.name)
            self._tell('Normal', 'SuccessfulDelete', f'Deleted pod: {removal.pod.metadata.name}')
        maker = templates.Maker(job, suffix=lambda: f'x{len(self._events):04}')
        for new in wanted.create:
            body = maker.make(new.index, failures=new.failures, ignored=new.ignored)
            self._add_pod(copy.deepcopy(body))
            self._tell('Normal', 'SuccessfulCreate', f'Created pod: {body["metadata"]["name"]}')
        self._write(wanted.noted)
        self._backoff = wanted.record
        for pod in wanted.release:
            self._release(pod)
        self._write(wanted.status)
        for event in wanted.events:
            self._tell(*event)

    def _sweep(self) -> None:
        """Frees pods that no Job will count."""
        job = _JOB.decode(msgspec.json.encode(self._job)) if self._job is not None else None
        for raw in list(self._pods.values()):
            pod = _POD.decode(msgspec.json.encode(raw))
            if claims.is_stray(pod, job):
                self._release(pod)

    def _write(self, status: types.Status | None) -> None:
        if status is not None:
            assert self._job is not None
            self._set_job(self._job | {'status': types.written(status)})

    def _release(self, pod: types.Pod) -> None:
        left = [each for each in pod.metadata.finalizers or () if each != FINALIZER]
        self._patch(pod, {'finalizers': left or None})

    def _patch(self, pod: types.Pod, metadata: Object) -> None:
        held = self._pods.get(pod.metadata.name)
        if held is not None:
            self._set_pod(_merged(held, {'metadata': metadata}))

    def _tell(self, kind: str, reason: str, note: str) -> None:
        self._events.append((f'e{len(self._events)}', 1, kind, reason, note))

    def _stamp(self) -> str:
        return objects.stamp(self._time)


def _merged(value: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    merged = dict(value) if isinstance(value, dict) else {}
    for key, change in patch.items():
        if change is None:
            merged.pop(key, None)
        else:
            merged[key] = _merged(merged.get(key), change)
    return merged
