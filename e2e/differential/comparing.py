"""Where two answers differ, apart from what differs between any two servers: uids, times, versions, generated names."""

import collections
import datetime
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from e2e.differential.sides import Said
from jobset.local.objects import Object
from tests.local.kinds import answers

_TIME: Final = re.compile(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z')
_UID: Final = re.compile(r'[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}')
_GIVEN: Final = frozenset({'6e7bd6bf-f085-445a-afae-28aebfd18022', '11111111-2222-3333-4444-555555555555'})
"""Uids that the writes bring along."""

_RECORD: Final = re.compile(r'(?<=ResourceVersion in record \()\d+')
_RECENT: Final = datetime.timedelta(days=1)
_CUSTOM: Final = re.compile(r'jobsets')
_SHOWN: Final = 600


@dataclass(frozen=True)
class Difference:
    """One place where the answers differ."""

    where: str
    real: str
    ours: str

    def __str__(self) -> str:
        return f'{self.where}: {self.real[:_SHOWN]} != {self.ours[:_SHOWN]}'


class Names:
    """What stands for the generated names of one server; for uids, times and versions the same does everywhere."""

    def __init__(self) -> None:
        self._generated: set[str] = set()

    def learn(self, name: str) -> None:
        """Take in a name that the server has made."""
        self._generated.add(name)

    def replaced(self, text: str) -> str:
        """The text with words in their place."""
        for name in self._generated:
            text = text.replace(name, '<name>')
        text = _UID.sub(lambda found: found[0] if found[0] in _GIVEN else '<uid>', text)
        return _RECORD.sub('<version>', _TIME.sub(_time, text))


def _time(found: re.Match[str]) -> str:
    text = found[0]
    given = datetime.datetime.fromisoformat(text)
    return '<now>' if abs(datetime.datetime.now(datetime.UTC) - given) < _RECENT else text


def differences(real: Said, ours: Said, names: tuple[Names, Names]) -> list[Difference]:
    """All places where the answers differ."""
    one, other = (_tidy(said, known) for said, known in zip((real, ours), names, strict=True))
    found = list(_differences(one['warnings'], other['warnings'], 'warnings'))
    if real.code != ours.code:
        # The rest would only say so once more.
        return [Difference('code', _outcome(one), _outcome(other)), *found]
    if real.code >= 400 and isinstance(one['body'], dict) and isinstance(other['body'], dict):
        causes = _causes(one['body'], other['body'])
        if causes:
            return [*causes, *found]
    return [*found, *_differences(one['body'], other['body'], '')]


def _outcome(said: Object) -> str:
    if not said['code']:
        return '0'
    if said['code'] < 400:
        return str(said['code'])
    body = said['body']
    if not isinstance(body, dict):
        return f'{said["code"]} {body}'
    causes = _told(body)
    return f'{said["code"]} {" ".join(causes) if len(causes) > 1 else body.get("message")}'


def _causes(real: Object, ours: Object) -> list[Difference]:
    """Causes that only one of them names, or their order."""
    one, other = _told(real), _told(ours)
    if one == other:
        return []
    missing = collections.Counter(one) - collections.Counter(other)
    more = collections.Counter(other) - collections.Counter(one)
    if not missing and not more:
        return [Difference('order of causes', ' '.join(one), ' '.join(other))]
    return [Difference('causes', ' '.join(missing.elements()), ' '.join(more.elements()))]


def _told(body: Object) -> list[str]:
    return [json.dumps(cause) for cause in (body.get('details') or {}).get('causes') or ()]


_QUOTED: Final = re.compile(r'(?<=Invalid value: )"(?:[^"\\]|\\.)*"(?=: )', re.DOTALL)


def _without_patch(body: Object) -> Object:
    """A refused patch shows the whole object in the order of Go's structs: only what is said about it counts."""
    causes = (body.get('details') or {}).get('causes') or []
    if [cause.get('field') for cause in causes] == ['patch']:
        body['message'] = _QUOTED.sub('<patch>', body['message'])
        causes[0]['message'] = _QUOTED.sub('<patch>', causes[0]['message'])
    return body


def _tidy(said: Said, names: Names) -> Object:
    body = json.loads(names.replaced(json.dumps(said.body)))
    if isinstance(body, dict):
        body = _without_order(_without_patch(body)) if said.code >= 400 else _without_passing(body)
    return {'code': said.code, 'body': body, 'warnings': sorted(said.warnings)}


def _without_passing(body: Object) -> Object:
    metadata = body.get('metadata')
    if body.get('kind') == 'Status' or not isinstance(metadata, dict):
        return body
    metadata.pop('resourceVersion', None)
    if metadata.get('managedFields'):
        # Their order is that of times, which a second between two requests changes.
        metadata['managedFields'] = {_manager(entry): entry.get('fieldsV1') for entry in metadata['managedFields']}
    return body


def _manager(entry: Object) -> str:
    return ' '.join(str(entry.get(key)) for key in ('manager', 'operation', 'apiVersion', 'subresource', 'fieldsType'))


def _without_order(body: Object) -> Object:
    """A refusal whose causes have an order, where Go gives them none: between entries of maps."""
    causes = (body.get('details') or {}).get('causes')
    if not causes or len(causes) < 2:
        return body
    if _CUSTOM.fullmatch(body['details'].get('kind', '')) or body['details'].get('group') == 'jobset.x-k8s.io':
        # Schemas of definitions are judged property by property, and those are in a map.
        ordered = sorted(causes, key=lambda cause: json.dumps(cause, sort_keys=True))
    else:
        ordered = answers.ordered(causes)
    body['details']['causes'] = ordered
    head, found, tail = body['message'].partition(': ')
    # The causes are compared one by one; of the text that joins them, what it begins with and its letters.
    body['message'] = f'{head}{found}{"".join(sorted(tail))}'
    return body


def _differences(real: object, ours: object, where: str) -> Iterator[Difference]:
    if isinstance(real, dict) and isinstance(ours, dict):
        for key in dict.fromkeys((*real, *ours)):
            place = f'{where}.{key}' if where else key
            if key not in real or key not in ours:
                yield Difference(place, _shown(real, key), _shown(ours, key))
            else:
                yield from _differences(real[key], ours[key], place)
    elif isinstance(real, list) and isinstance(ours, list) and len(real) == len(ours):
        for place, (one, other) in enumerate(zip(real, ours, strict=True)):
            yield from _differences(one, other, f'{where}[{place}]')
    elif real != ours or type(real) is not type(ours):
        yield Difference(where, json.dumps(real), json.dumps(ours))


def _shown(found: Object, key: str) -> str:
    return json.dumps(found[key]) if key in found else '(nothing)'
