"""Bodies in Protocol Buffers, which the typed commands of kubectl send: read as the JSON objects that they stand for.

Answers are never given in it: every client that sends it accepts JSON as well.

Source: Kubernetes API concepts, "Protobuf encoding"; Protocol Buffers, "Encoding".
"""

from typing import Final

from jobset.local.objects import Object
from jobset.local.problems import Problem
from jobset.local.server import answers
from jobset.local.server.protobuf import messages, wire

MEDIA: Final = 'application/vnd.kubernetes.protobuf'

_MAGIC: Final = b'k8s\x00'
_ENVELOPE: Final = 'k8s.io.apimachinery.pkg.runtime.Unknown'


def is_it(content_type: str) -> bool:
    """Whether a body of that type has to be taken through :func:`as_json` first."""
    return content_type.partition(';')[0].strip().lower() == MEDIA


def as_json(call: answers.Call) -> answers.Call:
    """The same request with its body in JSON. Raises Problem 400."""
    if not call.body:
        return call
    return answers.Call(
        method=call.method,
        path=call.path,
        query=call.query,
        body=answers.encode(decode(call.body)),
        content_type=answers.JSON,
        accept=call.accept,
        user_agent=call.user_agent,
        warns=call.warns,
    )


def decode(body: bytes) -> Object:
    """The object in a body. Raises Problem 400."""
    if not body.startswith(_MAGIC):
        raise Problem.bad_request('the object provided is unrecognized: it does not begin as Protobuf of Kubernetes does')
    try:
        envelope = messages.read(_ENVELOPE, memoryview(body)[len(_MAGIC) :])
        described = envelope.get('typeMeta') or {}
        api_version, kind = described.get('apiVersion', ''), described.get('kind', '')
        name = messages.of_kind(api_version, kind)
        if name is None:
            text = f'no kind "{kind}" is registered for version "{api_version}" in what this server reads as Protobuf'
            raise Problem.bad_request(text)
        return {'apiVersion': api_version, 'kind': kind} | messages.read(name, envelope.get('raw', b''))
    except wire.MalformedError as error:
        raise Problem.bad_request(f'the object provided is unrecognized: {error}') from None
