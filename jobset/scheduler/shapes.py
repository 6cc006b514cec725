"""What one pod of a replicated job needs of a node, read from its template as the API server keeps it.

Sources: Kubernetes, "Assigning Pods to Nodes" and "Taints and Tolerations".
"""

import functools
from collections.abc import Collection
from typing import Final

import msgspec

from jobset.api import podrequests, types
from jobset.scheduler.topology import nodes, requests

GRACE_SECONDS: Final = 30
"""What pods get to end that say nothing about it."""

_NOWHERE: Final = (nodes.Requirement(key=nodes.NAME_FIELD, values=()),)
"""What no node satisfies."""


class _Expression(msgspec.Struct, frozen=True, kw_only=True):
    key: str
    operator: str
    values: tuple[str, ...] | None = None


class _Term(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    match_expressions: tuple[_Expression, ...] | None = None
    match_fields: tuple[_Expression, ...] | None = None

    @property
    def requirements(self) -> tuple[nodes.Requirement, ...]:
        return tuple(
            nodes.Requirement(key=one.key, operator=one.operator, values=one.values or ())
            for one in (*(self.match_expressions or ()), *(self.match_fields or ()))
        )


class _Preferred(msgspec.Struct, frozen=True, kw_only=True):
    weight: int
    preference: _Term = _Term()


class _Required(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    node_selector_terms: tuple[_Term, ...] | None = None


class _NodeAffinity(msgspec.Struct, frozen=True, kw_only=True):
    required: _Required | None = msgspec.field(default=None, name='requiredDuringSchedulingIgnoredDuringExecution')
    preferred: tuple[_Preferred, ...] | None = msgspec.field(
        default=None, name='preferredDuringSchedulingIgnoredDuringExecution'
    )


class _Affinity(msgspec.Struct, frozen=True, kw_only=True, rename='camel'):
    node_affinity: _NodeAffinity | None = None


class _Toleration(msgspec.Struct, frozen=True, kw_only=True):
    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


class PodSpec(podrequests.PodSpec, frozen=True, kw_only=True, rename='camel'):
    """What of ``spec`` of a pod says where it may run, and how long it takes to end."""

    node_selector: dict[str, str] | None = None
    tolerations: tuple[_Toleration, ...] | None = None
    affinity: _Affinity | None = None
    termination_grace_period_seconds: int | None = None

    @property
    def grace(self) -> int:
        """Seconds that the pod gets to end."""
        given = self.termination_grace_period_seconds
        return GRACE_SECONDS if given is None else given


class _PodTemplate(msgspec.Struct, frozen=True, kw_only=True):
    spec: PodSpec = PodSpec()


class _JobSpec(msgspec.Struct, frozen=True, kw_only=True):
    template: _PodTemplate = _PodTemplate()


class _JobTemplate(msgspec.Struct, frozen=True, kw_only=True):
    spec: _JobSpec = _JobSpec()


def spec(job: types.ReplicatedJob) -> PodSpec:
    """The pods of a replicated job; raises :class:`msgspec.ValidationError` where the template is none."""
    return _read(bytes(job.template))


@functools.lru_cache(maxsize=4096)
def _read(template: bytes) -> PodSpec:
    # Kept: each change of a JobSet brings its templates again, and many JobSets have the same.
    return msgspec.json.decode(template, type=_JobTemplate).spec.template.spec


def shape(
    pod: PodSpec,
    *,
    known: podrequests.Known = podrequests.NOTHING_KNOWN,
    shared: Collection[str] = (),
) -> requests.PodShape:
    """What one such pod needs of a node, without its claims for devices that are ``shared`` among pods."""
    if shared:
        own = tuple(claim for claim in pod.resource_claims or () if claim.name not in shared)
        pod = msgspec.structs.replace(pod, resource_claims=own)
    affinity = pod.affinity.node_affinity if pod.affinity is not None else None
    preferred = affinity.preferred if affinity is not None else None
    return requests.PodShape(
        amounts=podrequests.of(pod, known=known),
        tolerations=tuple(
            nodes.Toleration(
                key=one.key or '', operator=one.operator or 'Equal', value=one.value or '', effect=one.effect or ''
            )
            for one in pod.tolerations or ()
        ),
        node_selector=pod.node_selector or {},
        node_affinity=_terms(affinity.required) if affinity is not None else (),
        # An empty preference says nothing.
        node_preferences=tuple(
            (one.weight, one.preference.requirements) for one in preferred or () if one.preference.requirements
        ),
    )


def _terms(required: _Required | None) -> tuple[tuple[nodes.Requirement, ...], ...]:
    """Terms of which one must hold. One without any requirement means no node, though nothing in it fails."""
    if required is None:
        return ()
    found = tuple(term.requirements for term in required.node_selector_terms or () if term.requirements)
    return found or (_NOWHERE,)
