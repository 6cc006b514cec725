"""Answers to writes, without what differs from run to run: of a real server, and of the rules of this package alone."""

import copy
import datetime
import itertools
import json
import re
from collections.abc import Sequence
from typing import Any, Final

from jobset.local import kinds, objects, problems, resources
from jobset.local.objects import Object
from tests.local.kinds import inputs

NOW: Final = datetime.datetime(2026, 11, 30, 12, 0, tzinfo=datetime.UTC)
UID: Final = '6e7bd6bf-f085-445a-afae-28aebfd18022'
_UID: Final = re.compile(r'[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}')
_RECENT: Final = re.compile(r'20(?:26-1[12]|2[7-9]-\d\d|3\d-\d\d)-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z')
_IN_MAP: Final = re.compile(
    r'((?:^|\.)(?:data|binaryData|labels|annotations|nodeSelector|limits|requests|capacity|allocatable))(?:[.\[].*)?$'
)
_PASSING: Final = ('resourceVersion', 'managedFields', 'generation', 'creationTimestamp', 'uid')

KINDS: Final = {f'{kind.plural}.{kind.group}' if kind.group else kind.plural: kind for kind in kinds.all_()}

PRESENT: Final = (
    inputs.Input(
        name='account',
        kind='serviceaccounts',
        body=inputs.edited(
            inputs.thing('ServiceAccount', imagePullSecrets=[{'name': 's'}]), {'metadata.name': 'worker'}
        ),
    ),
    inputs.Input(
        name='class',
        kind='priorityclasses.scheduling.k8s.io',
        body=inputs.edited(
            inputs.thing(
                'PriorityClass', 'scheduling.k8s.io/v1', namespaced=False, value=1000, preemptionPolicy='Never'
            ),
            {'metadata.name': 'h-c-high'},
        ),
    ),
)
"""What is there before."""


def tidy(code: int, body: Object) -> Object:
    """An answer as it is compared."""
    text = _RECENT.sub('NOW', _UID.sub('UID', json.dumps(body)))
    body = json.loads(text)
    if code >= 400:
        answer = {'code': code, 'reason': body.get('reason', ''), 'message': body.get('message', '')}
        causes = body.get('details', {}).get('causes')
        return answer if causes is None else _ordered(answer, causes)
    for key in _PASSING:
        body['metadata'].pop(key, None)
    return {'code': code, 'object': body}


def ordered(causes: Sequence[Object]) -> list[Object]:
    """The causes with neighbours that stand for entries of one map in order, as Go has none."""
    runs = itertools.groupby(causes, key=lambda cause: _IN_MAP.sub(r'\1', cause['field']))
    made: list[Object] = []
    for _, run in runs:
        same = list(run)
        mapped = _IN_MAP.search(same[0]['field']) is not None
        made += sorted(same, key=lambda cause: (cause['field'], cause['message'])) if mapped else same
    return made


def _ordered(answer: Object, causes: list[Object]) -> Object:
    """The answer with causes in order."""
    causes = ordered(causes)
    texts = [f'{cause["field"]}: {cause["message"]}' for cause in causes]
    head = answer['message'].partition(' is invalid: ')[0]
    what = texts[0] if len(texts) == 1 else f'[{", ".join(texts)}]'
    assert len(answer['message']) == len(f'{head} is invalid: {what}')
    return answer | {'causes': causes, 'message': f'{head} is invalid: {what}'}


def look_up(plural: str, namespace: str, name: str) -> Object | None:
    """Finds what is present."""
    for made in PRESENT:
        if (made.kind, objects.namespace(made.body), objects.name(made.body)) == (plural, namespace, name):
            return made.body
    return None


CONTEXT: Final = resources.Context(now=NOW, look_up=look_up)


def judge(given: inputs.Input) -> Object:
    """What the rules make of one input, called as the server calls them."""
    kind = KINDS[given.kind]
    try:
        stored = create(kind, copy.deepcopy(given.body))
        if given.change is None:
            return tidy(201, stored)
        if given.status:
            stored = write(kind, inputs.edited(stored, given.status), stored, 'status')
        return tidy(200, write(kind, inputs.edited(stored, given.change), stored, given.subresource))
    except problems.Problem as problem:
        return tidy(problem.code, problem.status())


def create(kind: resources.Kind, obj: Object) -> Object:
    """A new object, as it would be stored."""
    kind.schema.check(obj)
    kind.schema.prune(obj)
    objects.metadata(obj)['uid'] = UID
    rules = kind.rules
    kind.schema.default(obj)
    rules.prepare_create(obj, CONTEXT)
    rules.default(obj)
    rules.admit(obj, CONTEXT)
    _refuse(kind, obj, kind.schema.validate(obj) + rules.validate(obj))
    return obj


def write(kind: resources.Kind, obj: Object, old: Object, subresource: str) -> Object:
    """A changed object, as it would be stored."""
    kind.schema.check(obj)
    kind.schema.prune(obj)
    rules = kind.rules
    kind.schema.default(obj)
    if subresource == 'status':
        obj['metadata'] = copy.deepcopy(old['metadata'])
        rules.prepare_status(obj, old, CONTEXT)
        rules.default(obj)
        _refuse(kind, obj, kind.schema.validate(obj, old) + rules.validate_status(obj, old))
    else:
        rules.prepare_update(obj, old, CONTEXT)
        rules.default(obj)
        _refuse(kind, obj, kind.schema.validate(obj, old) + rules.validate_update(obj, old))
    return obj


def _refuse(kind: resources.Kind, obj: Object, causes: list[Any]) -> None:
    if causes:
        raise problems.Problem.invalid(kind.kind, kind.stored_group, objects.name(obj), list(dict.fromkeys(causes)))
