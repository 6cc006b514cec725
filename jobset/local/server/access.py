"""Who somebody is and what they may do: whoever holds the token may do everything.

Source: Kubernetes, "Authorization", "Checking API access"; answers as kube-apiserver gives them.
"""

from collections.abc import Mapping
from typing import Final

from jobset.local import objects
from jobset.local.admission import review
from jobset.local.objects import Object
from jobset.local.problems import Cause, Problem
from jobset.local.server import answers, bodies, planes, queries, refusals

_AUTHENTICATION: Final = 'authentication.k8s.io/v1'
_AUTHORIZATION: Final = 'authorization.k8s.io/v1'
_KINDS: Final[Mapping[str, tuple[str, str]]] = {
    f'/apis/{_AUTHENTICATION}/selfsubjectreviews': (_AUTHENTICATION, 'SelfSubjectReview'),
    f'/apis/{_AUTHORIZATION}/selfsubjectaccessreviews': (_AUTHORIZATION, 'SelfSubjectAccessReview'),
    f'/apis/{_AUTHORIZATION}/selfsubjectrulesreviews': (_AUTHORIZATION, 'SelfSubjectRulesReview'),
}
"""API version and kind by path."""

_EVERYTHING: Final[Object] = {
    'resourceRules': [{'verbs': ['*'], 'apiGroups': ['*'], 'resources': ['*']}],
    'nonResourceRules': [{'verbs': ['*'], 'nonResourceURLs': ['*']}],
    'incomplete': False,
}


def is_asked(path: str) -> bool:
    """Whether a path leads here."""
    return path in _KINDS


def answer(call: answers.Call, now: planes.Now) -> answers.Answer:
    """Answers a review of oneself: it is not kept. Raises Problem 400, 405, 415 and 422."""
    if call.method != 'POST':
        raise refusals.method_not_allowed()
    api_version, kind = _KINDS[call.path]
    asked, _ = bodies.decode(call, kind, queries.IGNORE)
    if asked.get('kind') not in (None, '', kind) or asked.get('apiVersion') not in (None, '', api_version):
        given, version = asked.get('kind') or kind, asked.get('apiVersion') or api_version
        text = f'no kind "{given}" is registered for version "{version}" here'
        raise Problem.bad_request(f'{given} in version "v1" cannot be handled as a {kind}: {text}')
    found: Object = {'kind': kind, 'apiVersion': api_version, 'metadata': {}}
    spec = asked.get('spec') or {}
    match kind:
        case 'SelfSubjectReview':
            found['metadata'] = {'creationTimestamp': objects.stamp(now())}
            found['status'] = {'userInfo': review.User().as_object()}
        case 'SelfSubjectAccessReview':
            if bool(spec.get('resourceAttributes')) == bool(spec.get('nonResourceAttributes')):
                text = 'exactly one of nonResourceAttributes or resourceAttributes must be specified'
                cause = Cause('spec', f'Invalid value: null: {text}')
                raise Problem.invalid('', api_version.partition('/')[0], '', [cause])
            found |= {'spec': spec, 'status': {'allowed': True}}
        case _:
            found |= {'spec': {}, 'status': _EVERYTHING}
    return answers.Answer.of(found, 201)
