"""Whether the host names and the managing controller of a JobSet can be what they say."""

from jobset.api import types
from jobset.api.validation import fields, names

SUBDOMAIN = 'spec.network.subdomain'
MANAGED_BY = 'spec.managedBy'
MANAGED_BY_MOST = 63


def check(spec: types.Spec) -> list[fields.FieldError]:
    """The mistakes in ``spec.network``: the subdomain is a part of host names and the name of a Service."""
    subdomain = spec.network.subdomain if spec.network else None
    if not subdomain:
        return []
    too_long = '.spec.network.subdomain is too long, must be less than 63 characters'
    return [
        *(fields.invalid(SUBDOMAIN, subdomain, reason) for reason in names.dns_1123_subdomain(subdomain)),
        *(
            fields.invalid(SUBDOMAIN, subdomain, too_long if reason == names.TOO_LONG_LABEL else reason)
            for reason in names.dns_1035_label(subdomain)
        ),
    ]


def managed_by(spec: types.Spec) -> list[fields.FieldError]:
    """The mistakes in ``spec.managedBy``."""
    if spec.managed_by is None:
        return []
    found = names.domain_prefixed_path(MANAGED_BY, spec.managed_by)
    if len(spec.managed_by.encode()) > MANAGED_BY_MOST:
        found.append(fields.too_long(MANAGED_BY, MANAGED_BY_MOST))
    return found
