"""What extends the server: definitions of custom resources, and webhook configurations."""

from collections.abc import Collection
from typing import Any, Final

from jobset.local import resources, schemas
from jobset.local.kinds import cells, checks, faults, typed
from jobset.local.objects import Object
from jobset.local.problems import Cause
from jobset.local.resources import Column
from jobset.local.schemas import definitions as custom

ADMISSION: Final = 'admissionregistration.k8s.io'
EXTENSIONS: Final = 'apiextensions.k8s.io'
_OPERATIONS: Final = ('*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE')
_SECONDS_MOST: Final = 30


class DefinitionRules(resources.Rules):
    """Of definitions. What follows from a new one is :func:`jobset.local.schemas.definitions.establish`'s business."""

    def default(self, obj: Object, settled: Collection[str] = ()) -> None:
        """Names that follow from others, and how versions are converted."""
        spec = obj.get('spec') or {}
        names = spec.get('names') or {}
        if names.get('kind'):
            names.setdefault('singular', names['kind'].lower())
            names.setdefault('listKind', f'{names["kind"]}List')
        spec.setdefault('conversion', {'strategy': 'None'})

    def validate(self, obj: Object) -> list[Cause]:
        """Mistakes of a new definition."""
        return custom.validate_crd(obj)

    def validate_update(self, obj: Object, old: Object) -> list[Cause]:
        """Mistakes of the new state and of the change."""
        return custom.validate_crd(obj, old)


class WebhookRules(typed.Rules):
    """Of webhook configurations."""

    has_status = False

    def __init__(self, shape: str, *, mutating: bool) -> None:
        self.shape = shape
        self._mutating = mutating

    def complete(self, obj: Object) -> None:
        """Webhooks are called for everything they name, and their failure is that of the request."""
        for webhook in obj.get('webhooks') or ():
            if service := (webhook.get('clientConfig') or {}).get('service'):
                service.setdefault('port', 443)
            for rule in webhook.get('rules') or ():
                rule.setdefault('scope', '*')
            webhook.setdefault('failurePolicy', 'Fail')
            webhook.setdefault('matchPolicy', 'Equivalent')
            webhook.setdefault('namespaceSelector', {})
            webhook.setdefault('objectSelector', {})
            webhook.setdefault('timeoutSeconds', 10)
            if self._mutating:
                webhook.setdefault('reinvocationPolicy', 'Never')

    def validate(self, obj: Object) -> list[Cause]:
        """Mistakes in webhooks."""
        causes: list[Cause] = []
        seen: set[str] = set()
        for i, webhook in enumerate(obj.get('webhooks') or ()):
            at, name = f'webhooks[{i}]', webhook.get('name', '')
            if name in seen:
                causes.append(faults.duplicate(f'{at}.name', name))
            seen.add(name)
            causes += _webhook(at, name, webhook, mutating=self._mutating)
        return causes


def _webhook(at: str, name: str, webhook: Object, *, mutating: bool) -> list[Cause]:
    causes = _qualified(f'{at}.name', name)
    for i, rule in enumerate(webhook.get('rules') or ()):
        causes += _rule(f'{at}.rules[{i}]', rule)
    for key, known in (('failurePolicy', ('Fail', 'Ignore')), ('matchPolicy', ('Equivalent', 'Exact'))):
        if webhook[key] not in known:
            causes.append(faults.unsupported(f'{at}.{key}', webhook[key], known))
    effects = webhook.get('sideEffects')
    known = ('None', 'NoneOnDryRun')
    if effects is None:
        causes.append(faults.required(f'{at}.sideEffects', f'must specify one of {", ".join(known)}'))
    elif effects not in known:
        causes.append(faults.unsupported(f'{at}.sideEffects', effects, known))
    seconds = webhook['timeoutSeconds']
    if not 1 <= seconds <= _SECONDS_MOST:
        text = f'the timeout value must be between 1 and {_SECONDS_MOST} seconds'
        causes.append(faults.invalid(f'{at}.timeoutSeconds', seconds, text))
    for key in ('namespaceSelector', 'objectSelector'):
        causes += checks.selector(f'{at}.{key}', webhook[key])
    if mutating and webhook['reinvocationPolicy'] not in (known := ('IfNeeded', 'Never')):
        causes.append(faults.unsupported(f'{at}.reinvocationPolicy', webhook['reinvocationPolicy'], known))
    causes += _client(f'{at}.clientConfig', webhook.get('clientConfig') or {})
    versions = webhook.get('admissionReviewVersions') or ()
    if not versions:
        causes.append(faults.required(f'{at}.admissionReviewVersions', 'must specify one of v1, v1beta1'))
    elif not {'v1', 'v1beta1'} & set(versions):
        text = 'must include at least one of v1, v1beta1'
        causes.append(faults.invalid(f'{at}.admissionReviewVersions', versions, text))
    return causes


def _qualified(path: str, name: str) -> list[Cause]:
    if not name:
        return [faults.required(path)]
    causes = faults.each_invalid(path, name, checks.dns_subdomain(name))
    if name.count('.') < 2:
        text = 'should be a domain with at least three segments separated by dots'
        causes.append(faults.invalid(path, name, text))
    return causes


def _rule(at: str, rule: Object) -> list[Cause]:
    causes: list[Cause] = []
    operations = rule.get('operations') or ()
    if not operations:
        causes.append(faults.required(f'{at}.operations'))
    if len(operations) > 1 and '*' in operations:
        text = "if '*' is present, must not specify other operations"
        causes.append(faults.invalid(f'{at}.operations', operations, text))
    causes += [
        faults.unsupported(f'{at}.operations[{i}]', operation, _OPERATIONS)
        for i, operation in enumerate(operations)
        if operation not in _OPERATIONS
    ]
    for key, what in (('apiGroups', 'API groups'), ('apiVersions', 'API versions'), ('resources', '')):
        values = rule.get(key) or ()
        if not values:
            causes.append(faults.required(f'{at}.{key}'))
        elif what and len(values) > 1 and '*' in values:
            text = f"if '*' is present, must not specify other {what}"
            causes.append(faults.invalid(f'{at}.{key}', values, text))
        elif key != 'apiGroups':
            causes += [faults.required(f'{at}.{key}[{i}]') for i, value in enumerate(values) if not value]
    if (scope := rule['scope']) not in (known := ('*', 'Cluster', 'Namespaced')):
        causes.append(faults.unsupported(f'{at}.scope', scope, known))
    return causes


def _client(at: str, client: Object) -> list[Cause]:
    url, service = client.get('url'), client.get('service')
    if (url is None) == (service is None):
        return [faults.required(at, 'exactly one of url or service is required')]
    if service is not None or url is None:
        service = service or {}
        causes = [faults.required(f'{at}.service.{key}') for key in ('name', 'namespace') if not service.get(key)]
        if (path := service.get('path')) is not None and not path.startswith('/'):
            causes.append(faults.invalid(f'{at}.service.path', path, "must start with a '/'"))
        return causes + faults.each_invalid(f'{at}.service.port', service['port'], checks.port(service['port']))
    form = '; desired format: https://host[/path]'
    if not url.startswith('https://'):
        text = f"'https' is the only allowed URL scheme{form}"
        return [faults.invalid(f'{at}.url', url.partition('://')[0] if '://' in url else '', text)]
    return []


def _webhooks(plural: str, kind: str, *, mutating: bool) -> resources.Kind:
    return resources.Kind(
        group=ADMISSION,
        version='v1',
        plural=plural,
        singular=kind.lower(),
        kind=kind,
        namespaced=False,
        categories=('api-extensions',),
        subresources=frozenset(),
        rules=WebhookRules(f'admissionregistration.{kind}', mutating=mutating),
        columns=(
            cells.NAME,
            Column(
                'Webhooks',
                lambda obj, _: len(obj.get('webhooks') or ()),
                type='integer',
                description='Webhooks indicates the number of webhooks registered in this configuration',
            ),
            cells.AGE,
        ),
        schema=schemas.builtin(ADMISSION, 'v1', kind),
    )


def mutating() -> resources.Kind:
    """Configurations of webhooks that change objects."""
    return _webhooks('mutatingwebhookconfigurations', 'MutatingWebhookConfiguration', mutating=True)


def validating() -> resources.Kind:
    """Configurations of webhooks that judge objects."""
    return _webhooks('validatingwebhookconfigurations', 'ValidatingWebhookConfiguration', mutating=False)


def definitions() -> resources.Kind:
    """Definitions of custom resources as the server knows them."""

    def created(obj: Object, _: Any) -> object:
        return obj['metadata'].get('creationTimestamp')

    return resources.Kind(
        group=EXTENSIONS,
        version='v1',
        plural='customresourcedefinitions',
        singular='customresourcedefinition',
        kind='CustomResourceDefinition',
        namespaced=False,
        short_names=('crd', 'crds'),
        categories=('api-extensions',),
        rules=DefinitionRules(),
        columns=(cells.NAME, Column('Created At', created, type='date')),
        schema=schemas.builtin(EXTENSIONS, 'v1', 'CustomResourceDefinition'),
    )
