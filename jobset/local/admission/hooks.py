"""Webhooks as their configurations write them, ready to be asked which requests they want.

Source: ``admissionregistration.k8s.io/v1``.
"""

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from jobset.local import objects, resources
from jobset.local.admission import conditions, selectors
from jobset.local.objects import Object

EXEMPT: Final = frozenset(
    f'{plural}.admissionregistration.k8s.io'
    for plural in (
        'mutatingwebhookconfigurations',
        'validatingwebhookconfigurations',
        'mutatingadmissionpolicies',
        'mutatingadmissionpolicybindings',
        'validatingadmissionpolicies',
        'validatingadmissionpolicybindings',
    )
)
"""What no webhook is asked about, so that a broken one can be removed."""


@dataclass(frozen=True, slots=True)
class Service:
    """Where a webhook of the cluster is served."""

    namespace: str
    name: str
    path: str = '/'
    port: int = 443

    @property
    def host(self) -> str:
        """The name in its certificate."""
        return f'{self.name}.{self.namespace}.svc'

    @property
    def url(self) -> str:
        """As the API server writes it."""
        return f'https://{self.host}:{self.port}{self.path}'


@dataclass(frozen=True, kw_only=True)
class Hook:
    """One webhook of a configuration."""

    name: str
    configuration: str
    is_mutating: bool
    rules: Sequence[Mapping[str, Any]] = ()
    selects_namespace: selectors.Selector | None = None
    selects_object: selectors.Selector | None = None
    match_conditions: Sequence[conditions.Condition] = ()
    ignores_failure: bool = False
    timeout_seconds: float = 10
    has_side_effects: bool = False
    """Whether a dry run must not reach it."""

    reinvoked: bool = False
    target: Service | str
    """A service, or a URL."""

    ca: bytes = b''
    """Certificates (PEM) that are trusted; those of the machine when there are none."""

    review_versions: Sequence[str] = ('v1',)

    @property
    def url(self) -> str:
        """Where it is called."""
        return self.target if isinstance(self.target, str) else self.target.url

    def wants(self, kind: resources.Kind, operation: str, subresource: str) -> bool:
        """Whether a rule names such requests. Selectors and conditions are the next questions."""
        return any(_matches(rule, kind, operation, subresource) for rule in self.rules)


def compile_(configurations: Iterable[Object], *, is_mutating: bool) -> Sequence[Hook]:
    """All webhooks of configurations, in the order in which they are called: by name of the configuration."""
    ordered = sorted(configurations, key=objects.name)
    return [hook for configuration in ordered for hook in _hooks(configuration, is_mutating=is_mutating)]


def _hooks(configuration: Object, *, is_mutating: bool) -> Iterator[Hook]:
    for written in configuration.get('webhooks') or ():
        where = written.get('clientConfig') or {}
        yield Hook(
            name=written.get('name', ''),
            configuration=objects.name(configuration),
            is_mutating=is_mutating,
            rules=written.get('rules') or (),
            selects_namespace=selectors.selector(written.get('namespaceSelector')),
            selects_object=selectors.selector(written.get('objectSelector')),
            match_conditions=[conditions.Condition(one) for one in written.get('matchConditions') or ()],
            ignores_failure=written.get('failurePolicy') == 'Ignore',
            timeout_seconds=written.get('timeoutSeconds') or 10,
            has_side_effects=written.get('sideEffects') not in ('None', 'NoneOnDryRun'),
            reinvoked=written.get('reinvocationPolicy') == 'IfNeeded',
            target=_target(where),
            ca=_ca(where.get('caBundle')),
            review_versions=written.get('admissionReviewVersions') or ('v1',),
        )


def _target(where: Mapping[str, Any]) -> Service | str:
    service = where.get('service')
    if not service:
        return str(where.get('url', ''))
    return Service(
        namespace=service.get('namespace', ''),
        name=service.get('name', ''),
        path=service.get('path') or '/',
        port=service.get('port') or 443,
    )


def _ca(bundle: object) -> bytes:
    try:
        return base64.b64decode(str(bundle or ''))
    except binascii.Error:
        return b''


def _matches(rule: Mapping[str, Any], kind: resources.Kind, operation: str, subresource: str) -> bool:
    return (
        _lists(rule, 'operations', operation)
        and _lists(rule, 'apiGroups', kind.group)
        and _lists(rule, 'apiVersions', kind.version)
        and rule.get('scope', '*') in ('*', 'Namespaced' if kind.namespaced else 'Cluster')
        and any(_names(written, kind.plural, subresource) for written in rule.get('resources') or ())
    )


def _lists(rule: Mapping[str, Any], key: str, value: str) -> bool:
    listed = rule.get(key) or ()
    return value in listed or '*' in listed


def _names(written: str, plural: str, subresource: str) -> bool:
    """``pods`` is the pod alone, ``pods/*`` with all its parts; ``*`` all objects without theirs."""
    resource, _, part = written.partition('/')
    return resource in ('*', plural) and part in ('*', subresource)
