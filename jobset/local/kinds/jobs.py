"""Jobs."""

import datetime
from collections.abc import Collection, Sequence
from typing import Final

from jobset.local import objects, resources, schemas
from jobset.local.describing import ages
from jobset.local.kinds import (
    cells,
    checks,
    faults,
    jobchanges,
    jobspec,
    jobstatus,
    normal,
    poddefaults,
    shown,
    typed,
    warnings,
)
from jobset.local.objects import Object
from jobset.local.problems import Cause
from jobset.local.resources import Column

UID_LABELS: Final = ('controller-uid', 'batch.kubernetes.io/controller-uid')
NAME_LABELS: Final = ('job-name', 'batch.kubernetes.io/job-name')
_BACKOFF_LIMIT: Final = 6
_INT32_MOST: Final = 2**31 - 1


class Rules(typed.Rules):
    """Of Jobs."""

    shape = 'batch.Job'
    spares_stored = True

    def prepare_create(self, obj: Object, context: resources.Context) -> None:
        """Make the selector and the labels by which the Job knows its pods, unless it brings its own."""
        obj.pop('status', None)
        metadata, spec = objects.metadata(obj), _part(obj, 'spec')
        spec.pop('scheduling', None)
        template = _part(_part(spec, 'template'), 'metadata')
        labels = template.get('labels')
        tagged = []
        if labels and (not metadata.get('labels') or metadata['labels'] is labels):
            metadata['labels'] = dict(labels)
            tagged = [metadata['labels']]
        if spec.get('manualSelector'):
            return
        labels = template['labels'] = labels or {}
        uid, name = metadata.get('uid', ''), metadata.get('name', '')
        # The Job that got its labels from the template shares these as well.
        for found in (labels, *tagged):
            for key in NAME_LABELS:
                found.setdefault(key, name)
            for key in UID_LABELS:
                found.setdefault(key, uid)
        _part(_part(spec, 'selector'), 'matchLabels').setdefault(UID_LABELS[1], uid)

    def default(self, obj: Object, settled: Collection[str] = ()) -> None:
        """The spec and its template; the labels, too, which those of the template stand in for."""
        normal.plan(self.shape).apply_beside(obj, settled)
        if 'spec' not in settled:
            _complete(obj['spec'])
        metadata, labels = obj['metadata'], obj['spec']['template']['metadata'].get('labels')
        if labels and not metadata.get('labels'):
            # The very same, where those that the server adds will be added to both.
            metadata['labels'] = dict(labels) if NAME_LABELS[0] in labels else labels

    def validate(self, obj: Object) -> list[Cause]:
        """Mistakes of a new Job."""
        return _selector(obj) + jobspec.check('spec', obj['spec']) + _name(obj)

    def prepare_update(self, obj: Object, old: Object, context: resources.Context) -> None:
        """The status stays."""
        super().prepare_update(obj, old, context)
        _part(obj, 'spec').pop('scheduling', None)

    def validate_update(self, obj: Object, old: Object) -> list[Cause]:
        """Mistakes of the new state, then those of the change."""
        if obj['spec'] == old['spec']:
            # It was judged when it was stored.
            return []
        causes = jobspec.check('spec', obj['spec'])
        return causes + jobchanges.check(obj['spec'], old) + _name(obj)

    def warnings(self, obj: Object, old: Object | None) -> Sequence[str]:
        """Of new Jobs, and of those whose spec changes."""
        return warnings.of_job(obj, is_new=old is None) if old is None or obj['spec'] != old['spec'] else ()

    def validate_status(self, obj: Object, old: Object) -> list[Cause]:
        """Mistakes of the new status."""
        return jobstatus.check(obj, old)


def _complete(spec: Object) -> None:
    """What is not given in a spec, and in its template."""
    if 'parallelism' not in spec:
        if 'completions' not in spec:
            spec['completions'] = 1
        spec['parallelism'] = 1
    elif spec['parallelism'] is None:
        spec['parallelism'] = 1
    if 'backoffLimit' not in spec:
        spec['backoffLimit'] = _INT32_MOST if 'backoffLimitPerIndex' in spec else _BACKOFF_LIMIT
    if 'completionMode' not in spec:
        spec['completionMode'] = 'NonIndexed'
    if 'suspend' not in spec:
        spec['suspend'] = False
    if 'podReplacementPolicy' not in spec:
        spec['podReplacementPolicy'] = 'Failed' if 'podFailurePolicy' in spec else 'TerminatingOrFailed'
    if 'manualSelector' not in spec:
        spec['manualSelector'] = False
    for rule in (spec.get('podFailurePolicy') or {}).get('rules') or ():
        for pattern in rule.get('onPodConditions') or ():
            if not pattern.get('status'):
                pattern['status'] = 'True'
    poddefaults.spec(spec['template']['spec'])


def _part(obj: Object, key: str) -> Object:
    found = obj.get(key)
    if found is None:
        found = obj[key] = {}
    return found


def _selector(job: Object) -> list[Cause]:
    """The labels and the selector that the server makes may not contradict what is given."""
    spec, metadata = job['spec'], job['metadata']
    selector = spec.get('selector')
    if spec.get('manualSelector') or selector is None:
        return []
    uid, name = metadata.get('uid', ''), metadata.get('name', '')
    labels = spec['template']['metadata'].get('labels') or {}
    wanted = {UID_LABELS[0]: uid, NAME_LABELS[0]: name, UID_LABELS[1]: uid, NAME_LABELS[1]: name}
    if wanted.items() <= labels.items() and selector == {'matchLabels': {UID_LABELS[1]: uid}}:
        return []
    causes: list[Cause] = []
    for key, value in wanted.items():
        path, text = f'spec.template.metadata.labels[{key}]', f"must be '{value}'"
        if key not in labels:
            causes.append(faults.required(path, text))
        elif labels[key] != value:
            causes.append(faults.invalid(path, shown.Inner('{}string', labels), text))
    if not checks.selector('', selector) and not checks.matches(selector, wanted):
        shown_selector = shown.Inner('meta.LabelSelector', selector)
        causes.append(faults.invalid('spec.selector', shown_selector, '`selector` not auto-generated'))
    return causes


def _name(job: Object) -> list[Cause]:
    """The names of the pods of an indexed Job are made of its own."""
    spec, name = job['spec'], job['metadata'].get('name', '')
    completions = spec.get('completions')
    if spec.get('completionMode') != 'Indexed' or not completions or completions < 1:
        return []
    longest = f'{name}-{completions - 1}'
    if not checks.dns_label(longest):
        return []
    return [faults.invalid('metadata.name', name, f'will not able to create pod with invalid DNS label: {longest}')]


def _state(job: Object) -> str:
    conditions = {
        found.get('type')
        for found in (job.get('status') or {}).get('conditions') or ()
        if found.get('status') == 'True'
    }
    for name in ('Complete', 'Failed'):
        if name in conditions:
            return name
    if job['metadata'].get('deletionTimestamp'):
        return 'Terminating'
    for name in ('Suspended', 'FailureTarget', 'SuccessCriteriaMet'):
        if name in conditions:
            return name
    return 'Running'


def _completions(job: Object) -> str:
    succeeded, spec = (job.get('status') or {}).get('succeeded', 0), job['spec']
    if spec.get('completions') is not None:
        return f'{succeeded}/{spec["completions"]}'
    parallelism = spec.get('parallelism') or 0
    return f'{succeeded}/1 of {parallelism}' if parallelism > 1 else f'{succeeded}/1'


COLUMNS: Final = (
    cells.NAME,
    Column('Status', lambda job, _: _state(job), description='Status of the job.'),
    Column('Completions', lambda job, _: _completions(job)),
    Column(
        'Duration',
        lambda job, now: _duration(job.get('status') or {}, now),
        description='Time required to complete the job.',
    ),
    cells.AGE,
    Column(
        'Containers',
        lambda job, _: cells.listed(each['name'] for each in job['spec']['template']['spec'].get('containers') or ()),
        priority=1,
        description='Names of each container in the template.',
    ),
    Column(
        'Images',
        lambda job, _: cells.listed(
            each.get('image', '') for each in job['spec']['template']['spec'].get('containers') or ()
        ),
        priority=1,
        description='Images referenced by each container in the template.',
    ),
    Column('Selector', lambda job, _: cells.selector(job['spec'].get('selector')), priority=1),
)


def _duration(status: Object, now: datetime.datetime) -> str:
    started, ended = status.get('startTime'), status.get('completionTime')
    if not started:
        return ''
    end = objects.moment(ended) if ended else now
    return ages.human(end - objects.moment(started))


def kind() -> resources.Kind:
    """Jobs as the server knows them."""
    return resources.Kind(
        group='batch',
        version='v1',
        plural='jobs',
        singular='job',
        kind='Job',
        categories=('all',),
        rules=Rules(),
        columns=COLUMNS,
        schema=schemas.builtin('batch', 'v1', 'Job'),
        selectable={'status.successful': lambda job: str((job.get('status') or {}).get('succeeded', 0))},
    )
