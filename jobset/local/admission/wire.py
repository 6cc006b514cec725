"""Reviews as they travel: AdmissionReview of ``admission.k8s.io``."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from jobset.local.admission import hooks, review
from jobset.local.objects import Object

GROUP: Final = 'admission.k8s.io'
VERSIONS: Final = ('v1', 'v1beta1')
"""Those that are spoken; they differ in what an answer has to contain."""


class BadAnswerError(Exception):
    """What the webhook has sent is no answer to the question."""


_WRONG: Final = 'received invalid webhook response'
_UNREADABLE: Final = 'failed to call webhook'


def request(asked: review.Review, uid: str) -> Object:
    """What is asked, without its envelope."""
    kind = asked.kind
    group, version, name = asked.body_kind or (kind.group, kind.version, kind.kind)
    what = {'group': group, 'version': version, 'kind': name}
    where = {'group': kind.group, 'version': kind.version, 'resource': kind.plural}
    found: Object = {'uid': uid, 'kind': what, 'resource': where}
    if asked.subresource:
        found['subResource'] = asked.subresource
    found |= {'requestKind': what, 'requestResource': where}
    if asked.subresource:
        found['requestSubResource'] = asked.subresource
    if asked.name:
        found['name'] = asked.name
    if asked.namespace:
        found['namespace'] = asked.namespace
    return found | {
        'operation': asked.operation,
        'userInfo': asked.user.as_object(),
        'object': asked.object,
        'oldObject': asked.old_object,
        'dryRun': asked.dry_run,
        'options': asked.options,
    }


def version_for(hook: hooks.Hook) -> str:
    """The first version that both sides speak. Raises :class:`BadAnswerError`."""
    for version in hook.review_versions:
        if version in VERSIONS:
            return version
    raise BadAnswerError(f'{_UNREADABLE}: webhook does not accept known AdmissionReview versions (v1, v1beta1)')


def question(asked: review.Review, uid: str, version: str) -> bytes:
    """The body to send."""
    envelope = {'kind': 'AdmissionReview', 'apiVersion': f'{GROUP}/{version}', 'request': request(asked, uid)}
    return msgspec.json.encode(envelope)


class _Response(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    uid: str = ''
    allowed: bool = False
    status: dict[str, Any] | None = None
    patch: str | None = None
    patch_type: str | None = None
    warnings: tuple[str, ...] | None = None


class _Review(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    api_version: str = ''
    kind: str = ''
    response: _Response | None = None


_decoder: Final = msgspec.json.Decoder(_Review)


def answer(body: bytes, uid: str, *, version: str, is_mutating: bool) -> review.Answer:
    """What a body says about the request of this ``uid``. Raises :class:`BadAnswerError`."""
    try:
        envelope = _decoder.decode(body)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BadAnswerError(f'{_UNREADABLE}: the answer cannot be read: {error}') from error
    response = envelope.response
    if response is None:
        raise BadAnswerError(f'{_WRONG}: webhook response was absent')
    if version == 'v1':
        _check(envelope, response, uid)
        _check_patch(response, is_mutating=is_mutating)
    return review.Answer(
        allowed=response.allowed,
        patch=_operations(response.patch) if is_mutating else (),
        status=response.status or {},
        warnings=response.warnings or (),
    )


def _check(envelope: _Review, response: _Response, uid: str) -> None:
    if (envelope.api_version, envelope.kind) != (f'{GROUP}/v1', 'AdmissionReview'):
        got = f'{envelope.kind or "no kind"} of {envelope.api_version or "no version"}'
        raise BadAnswerError(f'{_UNREADABLE}: expected AdmissionReview of {GROUP}/v1, got {got}')
    if response.uid != uid:
        raise BadAnswerError(f'{_WRONG}: expected response.uid="{uid}", got "{response.uid}"')


def _check_patch(response: _Response, *, is_mutating: bool) -> None:
    if not is_mutating:
        if response.patch:
            raise BadAnswerError(f'{_WRONG}: validating webhook may not return response.patch')
        if response.patch_type:
            raise BadAnswerError(f'{_WRONG}: validating webhook may not return response.patchType')
        return
    if response.patch and not response.patch_type:
        raise BadAnswerError(f'{_WRONG}: webhook returned response.patch but not response.patchType')
    if response.patch_type and not response.patch:
        raise BadAnswerError(f'{_WRONG}: webhook returned response.patchType but not response.patch')
    if response.patch_type not in (None, 'JSONPatch'):
        raise BadAnswerError(f'unsupported patch type "{response.patch_type}"')


def _operations(patch: str | None) -> list[Mapping[str, Any]]:
    if not patch:
        return []
    try:
        return msgspec.json.decode(base64.b64decode(patch), type=list[Mapping[str, Any]])
    except (binascii.Error, msgspec.MsgspecError) as error:
        raise BadAnswerError(f'{_WRONG}: response.patch is no JSON patch: {error}') from error
