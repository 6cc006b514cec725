"""Where the answers differ from the recorded ones, and why."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from jobset.local.objects import Object


@dataclass(frozen=True)
class Difference:
    """One difference that stays."""

    reason: str
    expected: Callable[[Object], Object]
    """The answer that is right here, from the recorded one."""


def _without_finalizers(answer: Object) -> Object:
    metadata = {key: value for key, value in answer['object']['metadata'].items() if key != 'finalizers'}
    return answer | {'object': answer['object'] | {'metadata': metadata}}


def _without(*paths: str) -> Callable[[Object], Object]:
    def expected(answer: Object) -> Object:
        causes = [cause for cause in answer['causes'] if cause['field'] not in paths]
        texts = [f'{cause["field"]}: {cause["message"]}' for cause in causes]
        head = answer['message'].partition(' is invalid: ')[0]
        what = texts[0] if len(texts) == 1 else f'[{", ".join(texts)}]'
        return answer | {'causes': causes, 'message': f'{head} is invalid: {what}'}

    return expected


def _refused_name(answer: Object) -> Object:
    text: Any = (
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
        "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
        r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
    )
    cause = {
        'field': 'spec.runtimeClassName',
        'message': f'Invalid value: "": {text}',
        'reason': 'FieldValueInvalid',
    }
    message = f'Pod "train" is invalid: {cause["field"]}: {cause["message"]}'
    return {'code': 422, 'reason': 'Invalid', 'message': message, 'causes': [cause]}


_PROTECTED: Final = Difference(
    'no controller of the plane takes protection finalizers away again, so none are added', _without_finalizers
)

DIFFERENCES: Final = {
    'job: template label wrong': Difference(
        'the labels of the Job itself are judged by the generic part of the server', _without('metadata.labels')
    ),
    'pod: runtime class': Difference('kube-apiserver fails inside at an empty name; here it is refused', _refused_name),
    'endpointslices.discovery.k8s.io: addresses': Difference(
        'pods of the plane live on loopback addresses, so endpoints may', _without('endpoints[1].addresses[0]')
    ),
    'persistentvolumeclaims: plain': _PROTECTED,
    'persistentvolumeclaims: class': _PROTECTED,
    'persistentvolumeclaims: source': _PROTECTED,
    'persistentvolumeclaims update: volume': _PROTECTED,
    'persistentvolumes: plain': _PROTECTED,
    'podgroups.scheduling.k8s.io: plain': _PROTECTED,
    'podgroups.scheduling.k8s.io: priority class': _PROTECTED,
    'podgroups.scheduling.k8s.io update: gang size': _PROTECTED,
    'podgroups.scheduling.k8s.io: wrong': Difference(
        'an empty disruption mode is taken for none, and gets the default', _without('spec.disruptionMode')
    ),
}
