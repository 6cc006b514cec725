"""Bodies in Protocol Buffers, which the typed commands of kubectl send: read as the JSON objects that they stand for.

Answers are never given in it: every client that sends it accepts JSON as well.

Source: Kubernetes API concepts, "Protobuf encoding"; Protocol Buffers, "Encoding".
"""

from typing import Final

import msgspec

from jobset.local.objects import Object
from jobset.local.problems import Problem
from jobset.local.server import answers
from jobset.local.server.protobuf import messages, wire

_MAGIC: Final = b'k8s\x00'


def is_it(content_type: str) -> bool:
    """Whether a body of that type has to be taken through :func:`as_json` first."""
    return content_type != answers.JSON and content_type.partition(';')[0].strip().lower() == answers.PROTOBUF


def as_json(call: answers.Call) -> answers.Call:
    """The same request with its body in JSON. Raises Problem 400."""
    if not call.body:
        return call
    return msgspec.structs.replace(call, body=answers.encode(decode(call.body)), content_type=answers.JSON)


def decode(body: bytes) -> Object:
    """The object in a body. Raises Problem 400."""
    if not body.startswith(_MAGIC):
        expected = ' '.join(str(byte) for byte in _MAGIC)
        raise _unrecognized(f'provided data does not appear to be a protobuf message, expected prefix [{expected}]')
    try:
        api_version, kind, data = _opened(memoryview(body)[len(_MAGIC) :])
        name = messages.of_kind(api_version, kind)
        if name is None:
            why = f'no kind "{kind}" is registered for version "{api_version}" here'
            version = api_version.rpartition('/')[2]
            raise Problem.bad_request(f'{kind} in version "{version}" cannot be handled: {why}')
        return {'apiVersion': api_version, 'kind': kind} | messages.read(name, data)
    except wire.MalformedError as error:
        raise _unrecognized(str(error)) from None


def _unrecognized(why: str) -> Problem:
    return Problem.bad_request(f'the object provided is unrecognized: {why}')


def _opened(envelope: memoryview) -> tuple[str, str, memoryview]:
    """API version and kind, and the message that is inside."""
    parts = wire.parts(envelope)
    described = wire.parts(parts.get(1, wire.NOTHING))
    api_version, kind = (str(described.get(number, wire.NOTHING), 'utf-8', 'replace') for number in (1, 2))
    return api_version, kind, parts.get(2, wire.NOTHING)
