"""Which webhooks are asked about a request, in which order, and what their answers make of it.

Source: Kubernetes, "Dynamic Admission Control"; texts of refusals as kube-apiserver 1.37 gives them.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from jobset.local import objects, problems, resources
from jobset.local.admission import calling, conditions, hooks, review, selectors, wire
from jobset.local.objects import Object
from jobset.local.patches import operations

logger = logging.getLogger(__name__)


class RefusedError(problems.Problem):
    """A webhook refuses, or fails. The body of the answer is the one that is given, whatever it may hold."""

    def __init__(self, code: int, reason: str, message: str, more: Mapping[str, Any]) -> None:
        super().__init__(code, reason, message)
        said = {'status': 'Failure', 'message': message, **({'reason': reason} if reason else {}), 'code': code}
        self._body: Object = {'kind': 'Status', 'apiVersion': 'v1', 'metadata': {}} | dict(more) | said

    def status(self) -> Object:
        """The body of the answer."""
        return self._body


class Dispatcher:
    """Asks the webhooks of the configurations that were last given to :meth:`configure`."""

    def __init__(self, caller: calling.Caller, look_up: resources.LookUp) -> None:
        self._caller = caller
        self._look_up = look_up
        self._mutating: Sequence[hooks.Hook] = ()
        self._validating: Sequence[hooks.Hook] = ()
        # Which hooks have a rule for a sort of request: there are few sorts, and many requests of each.
        self._table: dict[tuple[str, str, str, str, bool], Sequence[hooks.Hook]] = {}

    def configure(self, *, mutating: Iterable[Object], validating: Iterable[Object]) -> None:
        """Takes the configurations as they are now, all of them. To be called at each change."""
        self._mutating = hooks.compile_(mutating, is_mutating=True)
        self._validating = hooks.compile_(validating, is_mutating=False)
        self._table.clear()

    def is_mutating(self, kind: resources.Kind, operation: str, subresource: str = '') -> bool:
        """Whether any webhook may want to change such a request: when not, no review has to be made."""
        return bool(self._hooks(kind, operation, subresource, is_mutating=True))

    def is_validating(self, kind: resources.Kind, operation: str, subresource: str = '') -> bool:
        """Whether any webhook may want to judge such a request."""
        return bool(self._hooks(kind, operation, subresource, is_mutating=False))

    async def mutate(self, asked: review.Review) -> Object:
        """The object as the mutating webhooks want it; the very same when none of them changes it.

        A changed one has to be completed with defaults again. For a request without an object the answer means nothing.
        Raises :class:`~jobset.local.problems.Problem` for a refusal, and for a webhook that fails and must not.
        """
        asked = msgspec.structs.replace(asked)
        wanted = self._hooks(asked.kind, asked.operation, asked.subresource, is_mutating=True)
        again = await self._pass(wanted, asked)
        # Once more, as kube-apiserver does it, and no further: two webhooks may never come to an agreement.
        await self._pass(again, asked)
        return {} if asked.object is None else asked.object

    async def validate(self, asked: review.Review) -> None:
        """Has the validating webhooks judge. Raises :class:`~jobset.local.problems.Problem` for a refusal."""
        hooked = self._hooks(asked.kind, asked.operation, asked.subresource, is_mutating=False)
        wanted = [hook for hook in hooked if self._is_wanted(hook, asked)]
        if len(wanted) < 2:
            for hook in wanted:
                await self._judge(hook, asked)
            return
        outcomes = await asyncio.gather(*(self._judge(hook, asked) for hook in wanted), return_exceptions=True)
        for outcome in outcomes:
            if outcome is not None:
                raise outcome

    async def _pass(self, wanted: Sequence[hooks.Hook], asked: review.Review) -> Sequence[hooks.Hook]:
        """Lets webhooks change ``asked.object`` one after another; returns those that want to see it again."""
        before: list[hooks.Hook] = []
        again: set[int] = set()
        for hook in wanted:
            if not self._is_wanted(hook, asked):
                continue
            changed = await self._change(hook, asked)
            if changed is not None:
                asked.object = changed
                again.update(id(one) for one in before)
            if hook.reinvoked:
                before.append(hook)
        return [hook for hook in wanted if id(hook) in again]

    async def _change(self, hook: hooks.Hook, asked: review.Review) -> Object | None:
        answer = await self._ask(hook, asked)
        if answer is None or not answer.patch or asked.object is None:
            return None
        try:
            changed = operations.carry_out(asked.object, answer.patch)
        except problems.Problem as problem:
            raise _internal(problem.message) from problem
        return changed if changed != asked.object else None

    async def _judge(self, hook: hooks.Hook, asked: review.Review) -> None:
        await self._ask(hook, asked)

    async def _ask(self, hook: hooks.Hook, asked: review.Review) -> review.Answer | None:
        """The answer of a webhook that allows the request; None when it fails and may."""
        if asked.dry_run and hook.has_side_effects:
            raise problems.Problem.bad_request(f'admission webhook "{hook.name}" does not support dry run')
        try:
            answer = await self._caller.call(hook, asked)
        except calling.CallError as error:
            text = f'failed calling webhook "{hook.name}": {error}'
            if hook.ignores_failure:
                logger.warning('%s; its failure policy is Ignore', text)
                return None
            raise _internal(text) from error
        asked.warnings.extend(answer.warnings)
        if not answer.allowed:
            raise _denied(hook, answer.status)
        return answer

    def _hooks(
        self, kind: resources.Kind, operation: str, subresource: str, *, is_mutating: bool
    ) -> Sequence[hooks.Hook]:
        key = (kind.key, kind.version, operation, subresource, is_mutating)
        found = self._table.get(key)
        if found is None:
            of = self._mutating if is_mutating else self._validating
            found = [] if kind.key in hooks.EXEMPT else [one for one in of if one.wants(kind, operation, subresource)]
            self._table[key] = found
        return found

    def _is_wanted(self, hook: hooks.Hook, asked: review.Review) -> bool:
        """Whether selectors and conditions let the webhook be asked."""
        if hook.selects_namespace is not None and not self._selects_namespace(hook.selects_namespace, asked):
            return False
        if hook.selects_object is not None and not any(
            hook.selects_object(objects.metadata(obj).get('labels') or {})
            for obj in (asked.object, asked.old_object)
            if obj is not None
        ):
            return False
        return not hook.match_conditions or _holds(hook, asked)

    def _selects_namespace(self, selects: selectors.Selector, asked: review.Review) -> bool:
        if asked.kind.key == 'namespaces':
            obj = asked.object if asked.object is not None and not asked.subresource else asked.old_object
            return selects(objects.metadata(obj or {}).get('labels') or {})
        if not asked.kind.namespaced:
            return True
        namespace = self._look_up('namespaces', '', asked.namespace)
        if namespace is None:
            raise problems.Problem.not_found('namespaces', '', asked.namespace)
        return selects(objects.metadata(namespace).get('labels') or {})


def _holds(hook: hooks.Hook, asked: review.Review) -> bool:
    variables: dict[str, Callable[[], Any]] = {
        'object': lambda: asked.object,
        'oldObject': lambda: asked.old_object,
        'request': lambda: wire.request(asked, ''),
    }
    failed: conditions.ConditionError | None = None
    for condition in hook.match_conditions:
        try:
            if not condition.holds(variables):
                # One that is false decides, whatever could not be evaluated before it.
                return False
        except conditions.ConditionError as error:
            failed = failed or error
    if failed is None:
        return True
    if hook.ignores_failure:
        logger.warning('webhook "%s" is not called: %s', hook.name, failed)
        return False
    raise problems.Problem.forbidden(asked.kind.plural, asked.kind.group, asked.name, str(failed))


def _denied(hook: hooks.Hook, status: Mapping[str, Any]) -> RefusedError:
    reason = status.get('reason') or ''
    text = status.get('message') or reason
    said = f'denied the request: {text}' if text else 'denied the request without explanation'
    # A webhook that refuses may not call it a success.
    code = max(status.get('code') or 0, 400)
    return RefusedError(code, reason, f'admission webhook "{hook.name}" {said}', status)


def _internal(text: str) -> RefusedError:
    details = {'causes': [{'message': text}]}
    return RefusedError(500, 'InternalError', f'Internal error occurred: {text}', {'details': details})
