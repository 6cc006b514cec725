"""What the API server asks before it stores an object, and what we answer: AdmissionReview, ``admission.k8s.io/v1``.

Nothing here has side effects, so that a dry run is answered like any other request. DELETE and CONNECT, which the
webhook configurations do not ask about, are allowed.
"""

import asyncio
import dataclasses
import functools
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

import msgspec

from jobset.admission import pods
from jobset.api import defaulting, features, keys, types, validation
from jobset.api.validation import fields

API_VERSION: Final = 'admission.k8s.io/v1'
KIND: Final = 'AdmissionReview'

MutableObject = dict[str, object]


class BadReviewError(ValueError):
    """The request is none that this path answers. The text says what was found and what is expected."""


NOTHING: Final = msgspec.Raw(b'null')
"""Where a request has no object; it comes like this, or is left out."""


class GroupVersionKind(msgspec.Struct, frozen=True, kw_only=True):
    """What sort of object a request is about."""

    group: str = ''
    version: str = ''
    kind: str = ''

    def __str__(self) -> str:
        return f'{self.kind}.{self.version}.{self.group or "core"}'


class Request(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    """One request for admission. The objects are kept as they were sent."""

    uid: str
    kind: GroupVersionKind
    operation: str
    sub_resource: str = ''
    name: str = ''
    namespace: str = ''
    object: msgspec.Raw = NOTHING
    old_object: msgspec.Raw = NOTHING


class _Review(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    api_version: str = ''
    kind: str = ''
    request: Request | None = None


@dataclasses.dataclass(frozen=True)
class Answer:
    """What becomes of a request: allowed, perhaps with a change, unless there is a refusal."""

    patch: Sequence[Mapping[str, object]] = ()
    """Operations of RFC 6902."""

    refusal: Mapping[str, object] | None = None
    """A metav1.Status."""


LookUp = Callable[[str, Sequence[str]], Awaitable[Mapping[str, validation.Found]]]
"""Looks up volume claims by namespace and names. Never raises for a claim: that is what ``UnknownClaim`` is for."""

Handler = Callable[[Request], Answer | Awaitable[Answer]]
"""Answers at once where it can: on the path of most pods, nothing is waited for."""

JOBSET: Final = GroupVersionKind(group=keys.GROUP, version=keys.VERSION, kind=keys.KIND)
POD: Final = GroupVersionKind(version='v1', kind='Pod')

ALLOWED: Final = Answer()

DEFAULT_GATES: Final = features.FeatureGates()

_decoder: Final = msgspec.json.Decoder(_Review)
_encoder: Final = msgspec.json.Encoder()


def routes(
    *,
    gates: features.FeatureGates,
    look_up: LookUp,
    leaders: pods.Leaders,
) -> Mapping[str, tuple[GroupVersionKind, Handler]]:
    """Who answers at which path, and for which kind of object."""

    return {
        keys.MUTATE_JOBSET_PATH: (JOBSET, functools.partial(complete_jobset, gates=gates)),
        keys.VALIDATE_JOBSET_PATH: (JOBSET, functools.partial(judge_jobset, gates=gates, look_up=look_up)),
        keys.MUTATE_POD_PATH: (POD, functools.partial(complete_pod, leaders=leaders)),
        keys.VALIDATE_POD_PATH: (POD, functools.partial(judge_pod, leaders=leaders)),
    }


async def answered(handler: Handler, request: Request) -> Answer:
    """What a handler answers, for those who wait in any case."""
    answer = handler(request)
    return answer if isinstance(answer, Answer) else await answer


def decode(body: bytes, expected: GroupVersionKind) -> Request:
    """The request of a review about an ``expected`` kind. Raises :class:`BadReviewError`."""
    try:
        review = _decoder.decode(body)
    except msgspec.MsgspecError as error:
        raise BadReviewError(f'request body: not an {KIND}: {error}') from error
    except RecursionError:
        raise BadReviewError('request body: nested too deeply') from None
    if (review.api_version, review.kind) != (API_VERSION, KIND):
        got = f'{review.kind or "nothing"} of {review.api_version or "no version"}'
        raise BadReviewError(f'request body: got {got}; send {KIND} of {API_VERSION}')
    request = review.request
    if request is None or not request.uid:
        raise BadReviewError('request: missing, or without uid; send the question, not the answer')
    if request.kind != expected:
        raise BadReviewError(f'request.kind: {request.kind} is not answered at this path, only {expected} is')
    return request


def encode(uid: str, answer: Answer) -> bytes:
    """The review that answers the request of this ``uid``."""
    response: MutableObject = {'uid': uid, 'allowed': answer.refusal is None}
    if answer.refusal is not None:
        response['status'] = answer.refusal
    elif answer.patch:
        # Bytes become base64, which is what the API server expects.
        response |= {'patchType': 'JSONPatch', 'patch': _encoder.encode(answer.patch)}
    return _encoder.encode({'apiVersion': API_VERSION, 'kind': KIND, 'response': response})


def complete_jobset(request: Request, *, gates: features.FeatureGates = DEFAULT_GATES) -> Answer:
    """A new JobSet with its defaults, or a changed one with those that it had.

    One that cannot be read is let through: the schema says better what is wrong.
    """
    if request.sub_resource or request.object == NOTHING:
        return ALLOWED
    try:
        sent = msgspec.json.decode(request.object)
        stored = msgspec.json.decode(request.old_object)
    except (msgspec.MsgspecError, RecursionError):
        return ALLOWED
    return Answer(patch=completion(request.operation, sent, stored, gates))


def completion(
    operation: str, sent: object, stored: object, gates: features.FeatureGates = DEFAULT_GATES
) -> Sequence[Mapping[str, object]]:
    """What :func:`complete_jobset` answers, of the objects themselves."""
    if operation == 'CREATE' and isinstance(sent, dict):
        return [*defaulting.patch(sent), *defaulting.drop(sent, None, gates)]
    if operation == 'UPDATE' and isinstance(sent, dict) and isinstance(stored, dict):
        return [*defaulting.keep(stored, sent), *defaulting.drop(sent, stored, gates)]
    return ()


async def judge_jobset(request: Request, *, gates: features.FeatureGates, look_up: LookUp) -> Answer:
    """All mistakes of a new or changed JobSet at once."""
    if request.operation not in ('CREATE', 'UPDATE') or request.sub_resource:
        return ALLOWED
    if request.object == NOTHING:
        raise BadReviewError(f'request.object: missing for {request.operation}')
    if request.operation == 'UPDATE':
        return _judge_change(request, request.object, gates)
    new = _jobset(request.object)
    if not isinstance(new, types.JobSet):
        return _refusal(request.name, new)
    names = validation.claims_to_look_up(new)
    found = await look_up(request.namespace, names) if names else {}
    judge = functools.partial(validation.create, new, gates=gates, existing_claims=found)
    # Patterns may take their time to parse, and nobody else is to wait for that.
    errors = await asyncio.to_thread(judge) if _has_patterns(new) else judge()
    return _refusal(new.metadata.name, errors)


def _has_patterns(jobset: types.JobSet) -> bool:
    policy = jobset.spec.failure_policy
    return policy is not None and any(rule.on_job_failure_message_patterns for rule in policy.rules)


def _judge_change(request: Request, sent: msgspec.Raw, gates: features.FeatureGates) -> Answer:
    if request.old_object == NOTHING:
        raise BadReviewError('request.oldObject: missing for UPDATE')
    if _judged(sent) == _judged(request.old_object):
        # Also where it cannot be read: finalizers must come off a JobSet that an older version has stored.
        return ALLOWED
    new, old = _jobset(sent), _jobset(request.old_object)
    if not isinstance(new, types.JobSet):
        return _refusal(request.name, new)
    if not isinstance(old, types.JobSet):
        text = '; '.join(str(error) for error in old)
        return _refusal(request.name, [fields.plain(f'the stored object cannot be read, delete it: {text}')])
    return _refusal(new.metadata.name, validation.update(old, new, gates=gates))


def _refusal(name: str, errors: Sequence[validation.FieldError]) -> Answer:
    return Answer(refusal=validation.status_422(name, errors)) if errors else ALLOWED


class _WithAnnotations(msgspec.Struct, frozen=True):
    annotations: msgspec.Raw = msgspec.Raw(b'{}')


class _Judged(msgspec.Struct, frozen=True):
    """The parts whose change is judged."""

    metadata: _WithAnnotations = _WithAnnotations()
    spec: msgspec.Raw = msgspec.Raw(b'{}')


def _judged(sent: msgspec.Raw) -> tuple[bytes, bytes] | None:
    try:
        found = msgspec.json.decode(sent, type=_Judged)
    except msgspec.MsgspecError:
        return None
    return bytes(found.metadata.annotations), bytes(found.spec)


def _jobset(sent: msgspec.Raw) -> types.JobSet | list[validation.FieldError]:
    """The JobSet as typed values, templates included, or what keeps it from being read."""
    path = ''
    try:
        jobset = msgspec.json.decode(sent, type=types.JobSet)
        for i, replicated in enumerate(jobset.spec.replicated_jobs):
            path = f'spec.replicatedJobs[{i}].template'
            _ = replicated.job
        for p, policy in enumerate(jobset.spec.volume_claim_policies):
            path = f'spec.volumeClaimPolicies[{p}].templates'
            _ = policy.claims
    except msgspec.MsgspecError as error:
        return [_unreadable(path, str(error))]
    except RecursionError:
        return [fields.plain('the object is nested too deeply')]
    return jobset


_PLACE: Final = re.compile(r'(?P<what>.*?)(?: - at `\$\.?(?P<path>.*)`)?', re.DOTALL)


def _unreadable(path: str, text: str) -> validation.FieldError:
    """msgspec says where at the end of its text; ``path`` is where the part that it read belongs."""
    match = _PLACE.fullmatch(text)
    what, inner = (match['what'], match['path'] or '') if match else (text, '')
    where = f'{path}.{inner}' if path and inner and not inner.startswith('[') else path + inner
    return fields.FieldError(fields.Kind.INVALID, where or fields.NO_FIELD, what.replace('`', ''))


def complete_pod(request: Request, *, leaders: pods.Leaders) -> Answer | Awaitable[Answer]:
    """A new pod, with what :mod:`jobset.admission.pods` gives it."""
    pod = _new_pod(request)
    if pod is None:
        return ALLOWED
    patch = pods.complete_at_once(pod, request.namespace, leaders)
    return _complete_pod(pod, request.namespace, leaders) if patch is None else Answer(patch=patch)


async def _complete_pod(pod: pods.NewPod, namespace: str, leaders: pods.Leaders) -> Answer:
    try:
        return Answer(patch=await pods.complete(pod, namespace, leaders))
    except pods.NotYetError as error:
        return _not_yet(error)


def judge_pod(request: Request, *, leaders: pods.Leaders) -> Answer | Awaitable[Answer]:
    """Whether a new pod may be created now."""
    pod = _new_pod(request)
    if pod is None or pods.passes_at_once(pod, request.namespace, leaders):
        return ALLOWED
    return _judge_pod(pod, request.namespace, leaders)


async def _judge_pod(pod: pods.NewPod, namespace: str, leaders: pods.Leaders) -> Answer:
    try:
        await pods.judge(pod, namespace, leaders)
    except pods.NotYetError as error:
        return _not_yet(error)
    return ALLOWED


def _new_pod(request: Request) -> pods.NewPod | None:
    if request.operation != 'CREATE' or request.sub_resource or request.object == NOTHING:
        return None
    return pods.read(request.object)


def _not_yet(error: pods.NotYetError) -> Answer:
    return Answer(refusal={'status': 'Failure', 'message': str(error), 'reason': error.reason, 'code': error.code})
