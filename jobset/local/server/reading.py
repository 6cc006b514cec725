"""GET of one object and of a collection.

Source: Kubernetes API concepts, "Resource versions" and "Retrieving large results sets in chunks".
"""

import base64
import binascii
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import yaml

from jobset.local.describing import tables
from jobset.local.objects import Object
from jobset.local.problems import Cause, Problem
from jobset.local.server import answers, matching, negotiating, queries, refusals, selectors
from jobset.local.server.negotiating import Form
from jobset.local.server.planes import Plane
from jobset.local.server.registry import Target
from jobset.local.store import records, storage
from jobset.local.store.records import Place, Record

_TOO_OLD: Final = (
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without '
    'the continue parameter, or use the continue token in this response to retrieve the remainder of the results. '
    'Continuing with the provided token results in an inconsistent list - objects that were created, modified, or '
    'deleted between the time the first chunk was returned and now may show up in the list.'
)
_LATEST: Final = -1
"""In a continue token: the remainder as it is now, consistent or not."""


@dataclass(frozen=True)
class _Page:
    records: list[Record]
    revision: int
    next: str = ''
    remaining: int | None = None


class Reader:
    """Reads objects of any kind."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane

    def get(self, target: Target, call: answers.Call, params: queries.Params) -> answers.Answer:
        """Answers a GET of an object."""
        plane, kind = self._plane, target.kind
        wanted = negotiating.wanted(call.accept)
        self._demand_version(params)
        record = plane.store.get(kind.key, target.namespace, target.name)
        if record is None:
            raise Problem.not_found(kind.plural, kind.group, target.name)
        if wanted.form is Form.WHOLE:
            return finished(plane.show(kind, record), wanted)
        obj = plane.open(kind, record)
        if wanted.form is Form.PARTIAL:
            return finished(answers.encode(tables.partial(obj)), wanted)
        shown = tables.render(kind, [obj], plane.now(), include=include(params))
        return finished(answers.encode(shown), wanted)

    def list(self, target: Target, call: answers.Call, params: queries.Params) -> answers.Answer:
        """Answers a GET of a collection."""
        plane, kind = self._plane, target.kind
        wanted = negotiating.wanted(call.accept, is_list=True)
        page = self._page(target, params)
        metadata: Object = {'resourceVersion': str(page.revision)}
        if page.next:
            metadata['continue'] = page.next
            if page.remaining is not None:
                metadata['remainingItemCount'] = page.remaining
        if wanted.form is Form.WHOLE:
            head = {'kind': f'{kind.kind}List', 'apiVersion': kind.api_version, 'metadata': metadata}
            items = b','.join([plane.show(kind, record) for record in page.records])
            return finished(b'%s,"items":[%s]}' % (answers.encode(head)[:-1], items), wanted)
        shown = [plane.open(kind, record) for record in page.records]
        if wanted.form is Form.PARTIAL:
            return finished(answers.encode(tables.partials(shown, metadata)), wanted)
        table = tables.render(kind, shown, plane.now(), include=include(params), metadata=metadata)
        return finished(answers.encode(table), wanted)

    def _page(self, target: Target, params: queries.Params) -> _Page:
        kind, store = target.kind, self._plane.store
        selector = selectors.parse(kind, params.text('labelSelector'), params.text('fieldSelector'))
        limit = max(params.number('limit') or 0, 0)
        token = params.text('continue')
        after: Place | None = None
        if token:
            if params.text('resourceVersion') not in ('', '0'):
                raise Problem.bad_request('specifying resource version is not allowed when using continue')
            revision, after = _read_token(token, target.namespace)
        else:
            revision = self._revision(params)
        at = store.revision if revision == _LATEST else revision
        try:
            found = store.walk(kind.key, target.namespace, after=after, revision=at)
        except storage.ExpiredError:
            raise self._expired(token, after) from None
        matches = matching.matcher(selector, '', self._plane.opener(kind))
        chosen: Iterator[Record] = found if matches is None else filter(matches, found)
        if not limit:
            return _Page(list(chosen), at)
        taken = list(itertools.islice(chosen, limit + 1))
        if len(taken) <= limit:
            return _Page(taken, at)
        last = taken[limit - 1].place
        remaining = None
        if selector.takes_all:
            remaining = store.count(kind.key, target.namespace, after=last, revision=at)
        return _Page(taken[:limit], at, _token(at, last, target.namespace), remaining)

    def _revision(self, params: queries.Params) -> int:
        """The revision that a list shows."""
        text, match = params.text('resourceVersion'), params.text('resourceVersionMatch')
        _demand_match(text, match, params)
        wanted = self._demand_version(params)
        exact = match == 'Exact' or (not match and params.number('limit') and text not in ('', '0'))
        return wanted if exact else self._plane.store.revision

    def _demand_version(self, params: queries.Params) -> int:
        text = params.text('resourceVersion')
        if not text:
            return 0
        try:
            wanted = queries.version(text)
        except ValueError as error:
            why = f'invalid resource version: resourceVersion: Invalid value: "{text}": {error}'
            raise Problem.bad_request(why) from None
        if wanted > self._plane.store.revision:
            raise refusals.from_future(wanted, self._plane.store.revision)
        return wanted

    def _expired(self, token: str, after: Place | None) -> Problem:
        if not token or after is None:
            return Problem.expired('The resourceVersion for the provided list is too old.')
        return _TokenProblem(_token(_LATEST, after, ''))


class _TokenProblem(Problem):
    """A continue token is too old; the answer has one for the rest as it is now."""

    def __init__(self, token: str) -> None:
        super().__init__(410, 'Expired', _TOO_OLD)
        self._token = token

    def status(self) -> Object:
        """The body of the answer."""
        return super().status() | {'metadata': {'continue': self._token}}


def finished(data: bytes, wanted: negotiating.Wanted) -> answers.Answer:
    """JSON as the client wants it."""
    if not wanted.is_yaml:
        return answers.Answer(200, data)
    text = yaml.dump(records.decode(data), Dumper=yaml.CSafeDumper, default_flow_style=False, allow_unicode=True)
    return answers.Answer(200, text.encode(), answers.YAML)


def include(params: queries.Params) -> tables.Include:
    """What of the objects goes into a table. Raises Problem 400."""
    text = params.text('includeObject')
    try:
        return tables.Include(text) if text else tables.Include.METADATA
    except ValueError:
        raise Problem.bad_request(f'unrecognized includeObject value: "{text}"') from None


def _demand_match(text: str, match: str, params: queries.Params) -> None:
    def forbidden(why: str) -> Problem:
        return refusals.options(
            'ListOptions', Cause('resourceVersionMatch', f'Forbidden: {why}', 'FieldValueForbidden')
        )

    if params.text('sendInitialEvents'):
        why = 'sendInitialEvents is forbidden for list'
        raise refusals.options('ListOptions', Cause('sendInitialEvents', f'Forbidden: {why}', 'FieldValueForbidden'))
    if not match:
        return
    if not text:
        raise forbidden('resourceVersionMatch is forbidden unless resourceVersion is provided')
    if params.text('continue'):
        raise forbidden('resourceVersionMatch is forbidden when continue is provided')
    if match not in ('Exact', 'NotOlderThan'):
        shown = f'Unsupported value: "{match}": supported values: "Exact", "NotOlderThan", ""'
        raise refusals.options('ListOptions', Cause('resourceVersionMatch', shown, 'FieldValueNotSupported'))
    if match == 'Exact' and text == '0':
        raise forbidden('resourceVersionMatch "exact" is forbidden for resourceVersion "0"')


def _token(revision: int, last: Place, namespace: str) -> str:
    """Where to go on, as the real server writes it: the key after which the next page starts."""
    start = f'/{last[1]}\0' if namespace or not last[0] else f'/{last[0]}/{last[1]}\0'
    body = json.dumps({'v': 'meta.k8s.io/v1', 'rv': revision, 'start': start}, separators=(',', ':'))
    return base64.urlsafe_b64encode(body.encode()).rstrip(b'=').decode()


def _read_token(token: str, namespace: str) -> tuple[int, Place]:
    try:
        body: Any = json.loads(base64.urlsafe_b64decode(token + '=' * (-len(token) % 4)))
        revision, start = int(body['rv']), str(body['start'])
    except (binascii.Error, ValueError, KeyError, TypeError) as error:
        raise Problem.bad_request(f'invalid continue token: continue key is not valid: {error}') from None
    before, _, name = start.removesuffix('\0').rpartition('/')
    return revision, (namespace or before.strip('/'), name)
