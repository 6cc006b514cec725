"""What becomes of objects that several managers write, compared step by step with what a real server made of it."""

import datetime
import gzip
import json
from typing import Any

import pytest

from jobset.local import patches, schemas
from jobset.local.patches import fields, values
from jobset.local.problems import Problem
from jobset.local.schemas import builtins, canonical, custom
from tests.local.patches import record, sequences

_RECORDED = json.loads(gzip.decompress(record.FILE.read_bytes()))
_START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
"""Steps are a second apart."""


class _PodTemplates:
    """PodTemplate, which the plane does not serve, has the schema of its parts."""

    def __init__(self) -> None:
        pod = builtins.builtin('', 'v1', 'Pod').root
        spec = builtins.nodes().named('io.k8s.api.core.v1.PodTemplateSpec')
        properties = {key: pod.properties[key] for key in ('apiVersion', 'kind', 'metadata')}
        template = schemas.Node(**{each: getattr(spec, each) for each in spec.__slots__} | {'default': {}})
        self.root = schemas.Node(type='object', name='v1.PodTemplate', properties=properties | {'template': template})

    def default(self, obj: dict[str, Any]) -> None:
        canonical.write(obj, self.root)


_SCHEMAS: dict[str, Any] = {
    'ConfigMap': builtins.builtin('', 'v1', 'ConfigMap'),
    'Job': builtins.builtin('batch', 'v1', 'Job'),
    'PodTemplate': _PodTemplates(),
    'Thing': custom.Custom('Thing', 'v1', sequences.SCHEMA),
}


class _Plane:
    """The part of a server that has to do with patches, for one object."""

    def __init__(self, kind: str) -> None:
        self.schema = _SCHEMAS[kind]
        self.has_status = kind in ('Thing', 'Job')
        self.live: dict[str, Any] | None = None

    def write(self, number: int, verb: str, manager: str, body: Any, flags: tuple[str, ...]) -> dict[str, Any]:
        now = _START + datetime.timedelta(seconds=number)
        subresource = 'status' if 'status' in flags else ''
        node = self.schema.root
        if verb == 'apply':
            write = fields.Write(manager, body['apiVersion'], now, subresource, self.has_status)
            made = fields.apply(self.live, values.copied(body), node, write, force='force' in flags)
            self.schema.default(made)
        else:
            made = self._plain(verb, values.copied(body))
            self.schema.default(made)
            write = fields.Write(manager, made['apiVersion'], now, subresource, self.has_status)
            fields.track(self.live, made, node, write)
            self._put_back(made, subresource)
            self.schema.default(made)
        self.live = made
        return dict(made)

    def _plain(self, verb: str, body: Any) -> Any:
        if verb in ('create', 'replace'):
            return dict(body)
        live = values.copied(self.live)
        match verb:
            case 'merge':
                return values.copied(patches.merge(live, json.loads(body) if isinstance(body, str) else body))
            case 'strategic':
                return values.copied(patches.strategic(live, body, self.schema.root))
        return patches.json_patch(live, body)

    def _put_back(self, made: dict[str, Any], subresource: str) -> None:
        live = self.live or {}
        for key in ('spec', 'status'):
            if self.has_status and (key == 'status') != (subresource == 'status'):
                made.pop(key, None) if key == 'status' or live else None
                if key in live:
                    made[key] = live[key]


def _readable(obj: dict[str, Any]) -> Any:
    made = values.copied(obj)
    metadata = made['metadata']
    metadata.pop('name', None)
    for entry in metadata.get('managedFields', ()):
        moment = entry.get('time', '')
        if moment >= '2026':
            entry['time'] = (datetime.datetime.fromisoformat(moment) - _START).seconds
    return made


@pytest.mark.parametrize('name', sorted(sequences.SEQUENCES))
def test_sequence(name: str) -> None:
    steps = sequences.SEQUENCES[name]
    plane = _Plane(steps[0][2]['kind'])
    for number, (step, recorded) in enumerate(zip(steps, _RECORDED[name], strict=True)):
        verb, manager, body, *flags = step
        try:
            made = plane.write(number, verb, manager, body, tuple(flags))
        except Problem as problem:
            found: dict[str, Any] = {'code': problem.code, 'message': problem.message}
            wanted = {key: recorded.get(key) for key in found}
            causes = sorted(json.dumps(cause.as_object(), sort_keys=True) for cause in problem.causes)
            assert (number, found) == (number, wanted)
            assert causes == sorted(json.dumps(cause, sort_keys=True) for cause in recorded['causes'])
            continue
        assert recorded['code'] < 300, (number, recorded, _readable(made))
        assert _readable(made) == _without_servers_own(recorded['object']), (number, step)


def _without_servers_own(obj: dict[str, Any]) -> Any:
    """A recorded object without what other parts of a server make."""
    made = values.copied(obj)
    made['metadata'].pop('resourceVersion', None)
    if made['kind'] == 'Job':
        labels = {
            key: value
            for key, value in made['metadata'].pop('labels', {}).items()
            if 'job' not in key and 'uid' not in key
        }
        if labels:
            made['metadata']['labels'] = labels
        made['spec'].pop('selector', None)
        made['spec']['template']['metadata'].pop('labels', None)
    return made
