"""What must hold after every step, whatever happens in which order."""

from typing import Any

import msgspec

from jobset.api import extras, keys, types
from jobset.api.extravalues import FREE
from jobset.core import budgets, conditions, done, memory, rounds
from jobset.kube import requests
from tests.model import api, clock

Object = dict[str, Any]


class Checks:
    """Looks at each change of the server, and knows whether the controller is at work."""

    def __init__(self, server: api.Server, time: clock.Clock) -> None:
        self._server = server
        self._time = time
        self._seen: types.JobSet | None = None
        self._is_prompt = False
        self._passing = False
        self._status_writes = 0
        self.made: list[tuple[float, str, int]] = []
        """Each creation of a Job by the controller: when, which, and for which attempt."""

        self._jobset_uids: set[str] = set()
        self._succeeded: set[tuple[str, str, str]] = set()

    def begin(self, seen: types.JobSet | None, *, prompt: bool) -> None:
        """A pass begins, and sees this; ``prompt`` says that nothing of what it sees is old."""
        self._seen, self._is_prompt, self._passing, self._status_writes = seen, prompt, True, 0

    def end(self) -> None:
        """The pass is over."""
        self._passing = False

    def see(self, change: api.Change) -> None:
        """Something has changed on the server."""
        new = msgspec.json.decode(change.raw)
        old = msgspec.json.decode(change.before) if change.before is not None else None
        match change.name.plural:
            case 'jobsets' if not change.is_deletion:
                self._jobset_uids.add(new['metadata']['uid'])
                self._check_status(old, new)
            case 'jobs':
                if change.is_deletion and self._passing:
                    # The server lets an object go at once unless it was asked to wait for its pods.
                    waited = api.FOREGROUND in new['metadata'].get('finalizers', [])
                    assert waited, f'{change.name.name} is deleted without waiting for its pods'
                if old is None:
                    self._check_creation(new)
                self._check_attempts(new)
                self._remember_success(new)
            case 'pods' if not change.is_deletion:
                if old is None:
                    self._check_group(new)
                self._check_pods(new)
            case 'podgroups' if old is None:
                self._check_may_create(new)
        if old is None and change.name.plural in ('services', 'persistentvolumeclaims'):
            self._check_may_create(new)

    def write(self, request: requests.Request) -> None:
        """The controller is about to write: what it changes must be a JobSet or belong to one."""
        *_, plural, name = request.path.removesuffix('/status').split('/')
        if request.method == 'POST' or plural == 'jobsets':
            return
        found = self._server.get(plural, name)
        assert found is None or self._is_ours(request, found), f'{request} touches what is not ours'

    def _is_of_ours(self, obj: Object) -> bool:
        """Pods belong to a Job of a set, and what is kept of them to the set, which does not manage it."""
        owners = {owner['uid'] for owner in obj['metadata'].get('ownerReferences', [])}
        return (obj['metadata'].get('labels') or {}).get(keys.JOBSET_UID) in self._jobset_uids or bool(
            owners & self._jobset_uids
        )

    def _is_ours(self, request: requests.Request, found: Object) -> bool:
        """A write that names another uid is refused by the server, so it touches nothing."""
        sent = msgspec.json.decode(request.body or b'{}')
        if isinstance(sent, list):
            tested = {step['path']: step['value'] for step in sent if step['op'] == 'test'}
            sent = {'metadata': {'uid': tested['/metadata/uid']}}
        uids = [(sent.get(key) or {}).get('uid') for key in ('preconditions', 'metadata')]
        versions = (sent.get('metadata') or {}).get('resourceVersion')
        is_refused = any(uid not in (None, found['metadata']['uid']) for uid in uids) or versions not in (
            None,
            found['metadata']['resourceVersion'],
        )
        return is_refused or api.owner_uid(found) in self._jobset_uids or self._is_of_ours(found)

    def _is_by_controller(self, obj: Object) -> bool:
        """Nobody else makes objects that a JobSet owns."""
        return api.owner_uid(obj) is not None or keys.JOBSET_NAME in (obj['metadata'].get('labels') or {})

    def _check_may_create(self, obj: Object) -> None:
        if not self._is_by_controller(obj):
            return
        name = obj['metadata']['name']
        assert self._passing, f'{name} is made outside of a pass'
        assert self._seen is not None
        assert self._seen.metadata.deletion_timestamp is None, f'{name} is made after a deletion timestamp'
        ended = [c.type for c in self._seen.status.conditions if c.type in ('Completed', 'Failed') and c.is_true]
        assert not ended, f'{name} is made after {ended}'
        if self._is_prompt:
            stored = self._server.get('jobsets', self._seen.metadata.name)
            assert stored is not None
            assert 'deletionTimestamp' not in stored['metadata'], f'{name} is made after a deletion timestamp'

    def _check_creation(self, job: Object) -> None:
        if not self._is_by_controller(job):
            return
        self._check_may_create(job)
        seen = self._seen
        assert seen is not None
        metadata, name = job['metadata'], job['metadata']['name']
        labels = metadata['labels']
        attempt, whole = int(labels[keys.RESTART_ATTEMPT]), _attempt(labels)
        self.made.append((self._time.seconds, name, attempt))
        assert api.owner_uid(job) == seen.metadata.uid
        assert attempt == seen.status.restarts, f'{name} is made for attempt {attempt}'
        assert job['spec']['suspend'] is seen.suspended, f'{name} starts while its set is suspended'
        if self._lives(seen):
            # Of a set that is gone, the garbage collector may take the Jobs before anybody hears of it.
            again = (seen.metadata.uid, name, whole) in self._succeeded
            assert not again, f'{name} has succeeded and is made again'

    def _lives(self, seen: types.JobSet) -> bool:
        stored = self._server.get('jobsets', seen.metadata.name)
        return (
            stored is not None
            and stored['metadata']['uid'] == seen.metadata.uid
            and 'deletionTimestamp' not in stored['metadata']
        )

    def _remember_success(self, job: Object) -> None:
        owner = api.owner_uid(job)
        labels = job['metadata'].get('labels') or {}
        done = any(c['type'] == 'Complete' and c['status'] == 'True' for c in job['status'].get('conditions', []))
        if owner is not None and done and 'deletionTimestamp' not in job['metadata']:
            self._succeeded.add((owner, job['metadata']['name'], _attempt(labels)))

    def forget_success(self, job: str) -> None:
        """Somebody else deletes a Job: it may run again."""
        self._succeeded = {entry for entry in self._succeeded if entry[1] != job}

    def _check_attempts(self, changed: Object) -> None:
        """With BlockingRecreate no two attempts of a set live at once."""
        owner = api.owner_uid(changed)
        for jobset in self._server.view('jobsets'):
            policy = jobset['spec'].get('failurePolicy') or {}
            if jobset['metadata']['uid'] != owner or policy.get('restartStrategy') != 'BlockingRecreate':
                continue
            living = {
                job['metadata']['labels'][keys.RESTART_ATTEMPT]
                for job in self._server.view('jobs')
                if api.owner_uid(job) == owner
            }
            assert len(living) <= 1, f'attempts {sorted(living)} live at once'

    def _check_group(self, pod: Object) -> None:
        """The group of a pod is there before the pod, and of the same attempt."""
        name, labels = pod['metadata']['name'], pod['metadata'].get('labels') or {}
        group = labels.get(keys.POD_GROUP)
        if group is None or self._server.get('jobsets', labels[keys.JOBSET_NAME]) is None:
            return
        found = self._server.get('podgroups', group)
        assert found is not None, f'{name} is made before its group {group}'
        attempt = found['metadata']['labels'][keys.RESTART_ATTEMPT]
        assert attempt == labels[keys.RESTART_ATTEMPT], f'{name} is in a group of attempt {attempt}'

    def _check_pods(self, changed: Object) -> None:
        """No pod of an old attempt runs beside one of a new, and pods that restart in place run together."""
        if changed['status'].get('phase') != 'Running':
            return
        labels = changed['metadata'].get('labels') or {}
        jobset = next(
            (js for js in self._server.view('jobsets') if js['metadata']['uid'] == labels.get(keys.JOBSET_UID)), None
        )
        if jobset is None:
            return
        running = [
            pod
            for pod in self._server.view('pods')
            if pod['status']['phase'] == 'Running'
            and (pod['metadata'].get('labels') or {}).get(keys.JOBSET_UID) == jobset['metadata']['uid']
        ]
        policy = jobset['spec'].get('failurePolicy') or {}
        by_job: dict[str, set[str]] = {}
        for pod in running:
            names = pod['metadata']['labels']
            job = f'{names[keys.REPLICATED_JOB_NAME]}-{names[keys.JOB_INDEX]}'
            by_job.setdefault(job, set()).add(_attempt(names))
        assert all(len(attempts) == 1 for attempts in by_job.values()), f'attempts run beside each other: {by_job}'
        fenced = extras.FENCE_AFTER.key in (jobset['metadata'].get('annotations') or {})
        if fenced or policy.get('restartStrategy') == 'BlockingRecreate':
            whole = {pod['metadata']['labels'][keys.RESTART_ATTEMPT] for pod in running}
            assert len(whole) == 1, f'attempts {sorted(whole)} run at once'
        together = {pod['status']['announced'] for pod in running if pod['status'].get('runs')}
        assert len(together) <= 1, f'attempts {sorted(together)} in place run at once'

    def _check_status(self, old: Object | None, new: Object) -> None:
        before = (old or {}).get('status') or {}
        after = new.get('status') or {}
        if before == after:
            return
        self._status_writes += int(self._passing)
        assert self._status_writes <= 1, 'the status is written twice in one pass'
        for counter in ('restarts', 'restartsCountTowardsMax'):
            grown = after.get(counter, 0) - before.get(counter, 0)
            assert grown in (0, 1), f'{counter} grows by {grown}'
        policy = new['spec'].get('failurePolicy') or {}
        single, single_before = (_counted(status, 'jobRestartsCountTowardsMax') for status in (after, before))
        in_place, in_place_before = (_in_place(status) for status in (after, before))
        counted = after.get('restartsCountTowardsMax', 0) + single + in_place.counted
        assert counted <= max(0, policy.get('maxRestarts', 0))
        assert single - single_before in (0, 1)
        assert in_place.counted + in_place.through - in_place_before.counted - in_place_before.through in (0, 1, 2)
        _check_growth(before, after)
        _check_budgets(new, before, after)
        restarts = after.get('restarts', 0) + _counted(after, 'jobRestarts')
        assert restarts - before.get('restarts', 0) - _counted(before, 'jobRestarts') in (0, 1), 'restarts twice'
        self._check_end(before, after)
        replicas = {job['name']: job.get('replicas', 1) for job in new['spec'].get('replicatedJobs', [])}
        for entry in after.get('replicatedJobsStatus', []):
            assert (
                entry['succeeded'] + entry['failed'] + max(entry['ready'], entry['active']) <= replicas[entry['name']]
            )

    def _check_end(self, before: Object, after: Object) -> None:
        """An end is for ever, and both of its signs come together."""
        ended = [c['type'] for c in before.get('conditions', []) if _ends(c)]
        ends = [c['type'] for c in after.get('conditions', []) if _ends(c)]
        assert not ended or ends == ended, f'{ended} became {ends}'
        assert len(ends) <= 1
        assert after.get('terminalState', '') == (ends[0] if ends else ''), 'terminalState says something else'
        if ended:
            assert after.get('restarts') == before.get('restarts'), 'a finished set restarts'


def _attempt(labels: Object) -> str:
    """The attempt of the set, and that of the Job itself."""
    return f'{labels.get(keys.RESTART_ATTEMPT)}.{labels.get(keys.JOB_RESTART_ATTEMPT, 0)}'


def _decoded(status: Object) -> types.Status:
    return msgspec.json.decode(msgspec.json.encode(status), type=types.Status)


def _in_place(status: Object) -> rounds.Account:
    """What was counted of restarts in place; nothing where nobody asked for it."""
    decoded = _decoded(status)
    is_kept = conditions.find(decoded, memory.ROUNDS) is not None
    return rounds.of(decoded) if is_kept else rounds.Account(0, 0, 0, 0, '')


def _check_growth(before: Object, after: Object) -> None:
    """What was counted is never taken back."""
    for counter in ('executionAttempts', 'previousInPlaceRestartAttempt'):
        old, new = before.get(counter), after.get(counter)
        is_taken_back = counter.startswith('previous') and _holds(after, 'Suspended')
        assert is_taken_back or (new or 0) >= (old or 0), f'{counter} goes back'
    stored = {entry['name']: entry for entry in before.get('replicatedJobsStatus', [])}
    for entry in after.get('replicatedJobsStatus', []):
        for counter in ('jobRestarts', 'jobRestartsCountTowardsMax'):
            old_counts = stored.get(entry['name'], {}).get(counter, [])
            pairs = zip(old_counts, entry.get(counter, []), strict=False)
            assert all(one >= other for other, one in pairs), f'{counter} goes back'
            assert len(entry.get(counter, [])) >= len(old_counts)
    if after.get('restarts', 0) == before.get('restarts', 0):
        was_done, is_done = (done._read(memory.recall(_decoded(status), memory.DONE)) for status in (before, after))
        assert all(indexes <= is_done.get(name, frozenset()) for name, indexes in was_done.items()), 'what is done goes'


def _check_budgets(jobset: Object, before: Object, after: Object) -> None:
    """No entry pays for more than it says, and for one restart at a time."""
    spent_before, spent = (budgets._spent(_decoded(status)) for status in (before, after))
    limits = extras.RESTART_BUDGETS.of(jobset['metadata'].get('annotations') or {})
    grown = {key: count - spent_before.get(key, 0) for key, count in spent.items()}
    assert all(count >= 0 for count in grown.values()), f'{spent_before} became {spent}'
    assert sum(grown.values()) <= 1, f'{spent_before} became {spent}'
    for key, count in spent.items():
        limit = limits.limits.get(key) if limits is not None else None
        assert limit in (None, FREE) or count <= limit, f'{count} restarts of a budget {key}={limit}'


def _holds(status: Object, kind: str) -> bool:
    return any(c['type'] == kind and c['status'] == 'True' for c in status.get('conditions', []))


def _counted(status: Object, counter: str) -> int:
    return sum(sum(entry.get(counter, [])) for entry in status.get('replicatedJobsStatus', []))


def _ends(condition: Object) -> bool:
    return condition['type'] in ('Completed', 'Failed') and condition['status'] == 'True'
