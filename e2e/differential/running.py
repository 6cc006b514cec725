"""Stories told to both servers, and what comes of it."""

import collections
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from e2e.differential import comparing, known
from e2e.differential.sides import Said, Side
from e2e.differential.writes import NAMESPACE, Story, Verb, Write
from jobset.kube import requests
from jobset.local.objects import Object
from jobset.local.server import answers

COLLECTIONS: Final = {
    'jobs.batch': f'/apis/batch/v1/namespaces/{NAMESPACE}/jobs',
    'pods': f'/api/v1/namespaces/{NAMESPACE}/pods',
    'jobsets.jobset.x-k8s.io': f'/apis/jobset.x-k8s.io/v1alpha2/namespaces/{NAMESPACE}/jobsets',
}
_METHODS: Final = {Verb.CREATE: 'POST', Verb.REPLACE: 'PUT', Verb.DELETE: 'DELETE'}
_MEDIA: Final = {
    Verb.JSON: 'application/json-patch+json',
    Verb.MERGE: requests.Patch.MERGE.value,
    Verb.STRATEGIC: requests.Patch.STRATEGIC.value,
    Verb.APPLY: requests.Patch.APPLY.value,
}


@dataclass
class Outcome:
    """What a run has seen."""

    writes: int = 0
    codes: collections.Counter[str] = field(default_factory=collections.Counter)
    """How many answers had which code, by kind and verb."""

    known: collections.Counter[str] = field(default_factory=collections.Counter)
    """Writes with a difference that is listed, by its reason."""

    unknown: list[str] = field(default_factory=list)
    """Differences that are not listed."""

    def text(self) -> str:
        """For a reader."""
        lines = [f'{self.writes} writes; {len(self.unknown)} differences that are not listed']
        lines += [f'{count:6} writes differ: {reason}' for reason, count in self.known.most_common()]
        lines += [f'{count:6} {what}' for what, count in sorted(self.codes.items())]
        return '\n'.join(lines)


@dataclass
class _Told:
    """How far a story is on one server."""

    side: Side
    names: comparing.Names = field(default_factory=comparing.Names)
    name: str = ''
    stored: Object = field(default_factory=dict)


class Runner:
    """Tells stories."""

    def __init__(self, real: Side, ours: Side) -> None:
        self._sides = (real, ours)
        self.outcome = Outcome()

    async def run(self, stories: Iterable[Story], writes: int) -> Outcome:
        """Tell them one after another until there are so many writes."""
        for story in stories:
            if self.outcome.writes >= writes:
                break
            await self.tell(story)
        return self.outcome

    async def tell(self, story: Story) -> None:
        """Tell one: each write, what is stored after it, and the end of the object."""
        told = [_Told(side, name=story.name) for side in self._sides]
        collection = COLLECTIONS[story.kind]
        for place, write in enumerate(story.writes):
            if place > 1 and not any(one.stored for one in told):
                # Once is enough to see what is said of an object that is not there.
                break
            bodies = [write.content(one.stored) for one in told]
            said = [await _send(one, collection, write, body) for one, body in zip(told, bodies, strict=True)]
            self.outcome.writes += 1
            self.outcome.codes[f'{story.kind} {write.verb} {said[0].code}'] += 1
            for one, answer in zip(told, said, strict=True):
                _take(one, write, answer)
            same = self._compare(story, place, told, bodies[0], said=said)
            after = [await one.side.ask('GET', f'{collection}/{one.name}') for one in told]
            for one, answer in zip(told, after, strict=True):
                one.stored = answer.body if answer.code == 200 else one.stored
            if same:
                same = self._compare(story, place, told, bodies[0], said=after, of='stored ')
            if not same:
                # What follows would only differ further.
                break
        for one in told:
            await _clean(one, collection)

    def _compare(
        self,
        story: Story,
        place: int,
        told: list[_Told],
        body: bytes,
        *,
        said: list[Said],
        of: str = '',
    ) -> bool:
        """Whether they are the same; writes down where not."""
        real, ours = said
        found = comparing.differences(real, ours, (told[0].names, told[1].names))
        write = story.writes[place]
        head = f'{story.kind} {write.verb}{" " * bool(write.subresource)}{write.subresource}'
        reasons = set()
        for difference in found:
            reason = known.reason(f'{head}: {of}{difference.where}', difference, f'{write.query} {body.decode()}')
            if reason is None:
                sent = f'\n    {write.query} {body.decode()}'
                self.outcome.unknown.append(f'{story.name}[{place}] {head} {of}{difference}{sent}')
            else:
                reasons.add(reason)
        self.outcome.known.update(reasons)
        return not found


async def _send(told: _Told, collection: str, write: Write, body: bytes) -> Said:
    path = collection if write.verb == Verb.CREATE else f'{collection}/{told.name}'
    if write.subresource:
        path += f'/{write.subresource}'
    if write.query:
        path += f'?{write.query}'
    media = _MEDIA.get(write.verb, answers.JSON)
    return await told.side.ask(_METHODS.get(write.verb, 'PATCH'), path, body, media)


def _take(told: _Told, write: Write, answer: Said) -> None:
    """Learn which object the story is about, and what stands for it."""
    if write.verb != Verb.CREATE or not isinstance(answer.body, dict):
        return
    is_made = answer.code == 201
    name = answer.body['metadata']['name'] if is_made else (answer.body.get('details') or {}).get('name', '')
    sent = write.body if isinstance(write.body, dict) else {}
    if name and not _name(sent):
        told.names.learn(name)
    if is_made:
        told.name, told.stored = name, answer.body


def _name(sent: Object) -> str:
    metadata = sent.get('metadata')
    return str(metadata.get('name') or '') if isinstance(metadata, dict) else ''


async def _clean(told: _Told, collection: str) -> None:
    """Take the object away, whatever keeps it."""
    path = f'{collection}/{told.name}'
    patch = json.dumps({'metadata': {'finalizers': None}}).encode()
    await told.side.ask('DELETE', f'{path}?gracePeriodSeconds=0&propagationPolicy=Background')
    await told.side.ask('PATCH', path, patch, requests.Patch.MERGE.value)
