"""The webhooks of JobSets in this process, under the service that their configurations name."""

import functools
from typing import Final

import msgspec

from jobset.admission import pods, reviews
from jobset.api import features, keys
from jobset.local import resources
from jobset.local.admission import calling, review
from jobset.local.objects import Object

NAMESPACE: Final = 'jobset-system'
SERVICE: Final = 'jobset-webhook-service'
"""As ``config/default`` names them."""


def registry(
    *,
    gates: features.FeatureGates,
    look_up: reviews.LookUp,
    leaders: pods.Leaders,
    namespace: str = NAMESPACE,
    service: str = SERVICE,
) -> calling.Registry:
    """The handlers of the webhook server, to be called without a server."""
    routes = reviews.routes(gates=gates, look_up=look_up, leaders=leaders)
    handlers: dict[str, calling.Handler] = {
        path: functools.partial(_answer, handler) for path, (_, handler) in routes.items()
    }
    handlers[keys.MUTATE_JOBSET_PATH] = functools.partial(_complete, gates)
    return {(namespace, service, path): handler for path, handler in handlers.items()}


async def _answer(handler: reviews.Handler, asked: review.Review, uid: str) -> review.Answer:
    kind = asked.kind
    request = reviews.Request(
        uid=uid,
        kind=reviews.GroupVersionKind(group=kind.group, version=kind.version, kind=kind.kind),
        operation=asked.operation,
        sub_resource=asked.subresource,
        name=asked.name,
        namespace=asked.namespace,
        object=_raw(asked.object, kind),
        old_object=_raw(asked.old_object, kind),
    )
    answer = await reviews.answered(handler, request)
    if answer.refusal is not None:
        return review.Answer(allowed=False, status=answer.refusal)
    return review.Answer(allowed=True, patch=answer.patch)


async def _complete(gates: features.FeatureGates, asked: review.Review, _: str) -> review.Answer:
    """As :func:`jobset.admission.reviews.complete_jobset`, on the object itself instead of its JSON."""
    if asked.subresource:
        return review.Answer(allowed=True)
    return review.Answer(allowed=True, patch=reviews.completion(asked.operation, asked.object, asked.old_object, gates))


def _raw(obj: Object | None, kind: resources.Kind) -> msgspec.Raw:
    # In the order in which the real server sends custom objects: mistakes may show a part of them.
    order: Final = 'sorted' if kind.kind == keys.KIND else None
    return reviews.NOTHING if obj is None else msgspec.Raw(msgspec.json.encode(obj, order=order))
