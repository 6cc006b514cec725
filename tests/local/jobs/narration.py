"""What happens to one Job, noted down in a form in which two runs can be compared, whoever's controller works.

Names, uids and times differ from run to run. Pods are therefore called by their index and the how-manieth they are of
it (``i3.0``), or, without indexes, by the order in which they appeared (``p0``).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

Object = dict[str, Any]

INDEX: Final = 'batch.kubernetes.io/job-completion-index'
FINALIZER: Final = 'batch.kubernetes.io/job-tracking'
NOTES: Final = {
    'batch.kubernetes.io/job-index-failure-count': 'failures',
    'batch.kubernetes.io/job-index-ignored-failure-count': 'ignored',
}
FOLDED: Final = ('SuccessfulCreate', 'SuccessfulDelete')
"""Events that come in any order among themselves, because pods are made and deleted several at once."""


@dataclass
class Narrator:
    """Sees every version of a Job and of its pods, and tells what has become of them since the last time."""

    job: Object | None = None
    pods: dict[str, Object] = field(default_factory=dict)
    """Those that are there, by name."""

    names: dict[str, str] = field(default_factory=dict)
    """What pods are called here, by name."""

    bodies: dict[str, Object] = field(default_factory=dict)
    changes: int = 0
    _counts: dict[str, int] = field(default_factory=dict)
    _conditions: list[str] = field(default_factory=list)

    def saw_job(self, job: Object | None) -> None:
        """The Job has changed, or is gone."""
        self.changes += 1
        self.job = job
        if job is not None:
            conditions = ' '.join(_brief(each) for each in job.get('status', {}).get('conditions') or ())
            if conditions and conditions not in self._conditions[-1:]:
                self._conditions.append(conditions)

    def saw_pod(self, pod: Object, *, gone: bool = False) -> None:
        """A pod of the Job has come, changed or gone."""
        self.changes += 1
        name = pod['metadata']['name']
        if gone:
            self.pods.pop(name, None)
            return
        if name not in self.names:
            self.names[name] = self._called(pod)
            self.bodies[self.names[name]] = _body(pod)
        self.pods[name] = pod

    def pod(self, called: str) -> Object:
        """The pod that is called so."""
        for name, pod in self.pods.items():
            if self.names[name] == called:
                return pod
        raise LookupError(f'there is no pod {called}; there are {sorted(self.names.values())}')

    def moment(self, events: Iterable[tuple[str, int, str, str, str]]) -> Object:
        """What is there now, and what has happened since the last moment.

        ``events`` are all those about the Job in their order: name, count, type, reason, text.
        """
        history, self._conditions = self._conditions, self._conditions[-1:]
        return {
            'status': self._status(),
            'conditions': history,
            'pods': {self.names[name]: _words(pod) for name, pod in sorted(self.pods.items(), key=self._place)},
            'events': self._news(events),
        }

    def _called(self, pod: Object) -> str:
        index = pod['metadata'].get('annotations', {}).get(INDEX)
        prefix = 'p' if index is None else f'i{index}.'
        return f'{prefix}{sum(name.startswith(prefix) for name in self.names.values())}'

    def _place(self, item: tuple[str, Object]) -> tuple[int, ...]:
        return tuple(int(number) for number in re.findall(r'\d+', self.names[item[0]]))

    def _status(self) -> Object | None:
        if self.job is None:
            return None
        status = dict(self.job.get('status', {}))
        for key in ('startTime', 'completionTime'):
            if key in status:
                status[key] = True
        if 'conditions' in status:
            status['conditions'] = [
                [each['type'], each['status'], each.get('reason'), self._plain(each.get('message') or '')]
                for each in status['conditions']
            ]
        for key, uids in (status.get('uncountedTerminatedPods') or {}).items():
            status['uncountedTerminatedPods'] = status['uncountedTerminatedPods'] | {key: len(uids)}
        return status

    def _news(self, events: Iterable[tuple[str, int, str, str, str]]) -> list[str]:
        told: list[str] = []
        for name, count, kind, reason, text in events:
            times = count - self._counts.get(name, 0)
            self._counts[name] = count
            told += [f'{kind} {reason}: {self._plain(text)}'] * times
        return _sorted_runs(told)

    def _plain(self, text: str) -> str:
        for name, called in self.names.items():
            text = re.sub(rf'\b([a-z0-9-]+/)?{re.escape(name)}\b', f'<{called}>', text)
        return text


def _brief(condition: Object) -> str:
    return condition['type'] if condition['status'] == 'True' else f'!{condition["type"]}'


def _words(pod: Object) -> str:
    metadata, status = pod['metadata'], pod.get('status', {})
    words = [status.get('phase', 'Pending')]
    words += ['ready'] if _is_ready(status) else []
    words += ['deleted'] if 'deletionTimestamp' in metadata else []
    words += ['tracked'] if FINALIZER in metadata.get('finalizers', ()) else []
    annotations = metadata.get('annotations', {})
    words += [f'{short}={annotations[key]}' for key, short in NOTES.items() if key in annotations]
    words += [] if any(owner.get('controller') for owner in metadata.get('ownerReferences', ())) else ['alone']
    return ' '.join(words)


def _is_ready(status: Object) -> bool:
    return any(each['type'] == 'Ready' and each['status'] == 'True' for each in status.get('conditions') or ())


def _body(pod: Object) -> Object:
    """What a controller decides of a new pod."""
    metadata, spec = pod['metadata'], pod['spec']
    uid = next((owner['uid'] for owner in metadata.get('ownerReferences', ())), None)
    found = {
        'generateName': metadata.get('generateName', ''),
        'nameStartsWith': metadata['name'][:-5],
        'labels': metadata.get('labels'),
        'annotations': metadata.get('annotations'),
        'finalizers': metadata.get('finalizers'),
        'ownerReferences': metadata.get('ownerReferences'),
        'hostname': spec.get('hostname'),
        'env': {
            each['name']: each.get('env') for each in [*spec.get('initContainers', ()), *spec.get('containers', ())]
        },
    }
    return {key: _without(value, uid) for key, value in found.items()}


def _without(value: Any, uid: str | None) -> Any:
    match value:
        case dict():
            return {key: _without(each, uid) for key, each in value.items()}
        case list() | tuple():
            return [_without(each, uid) for each in value]
        case str() if value and value == uid:
            return '<uid>'
        case _:
            return value


def _sorted_runs(told: list[str]) -> list[str]:
    """The events in order, those that have none among themselves sorted."""
    result: list[str] = []
    run: list[str] = []
    for each in told:
        if any(f' {reason}:' in each for reason in FOLDED):
            run.append(each)
        else:
            result += [*sorted(run), each]
            run = []
    return result + sorted(run)
