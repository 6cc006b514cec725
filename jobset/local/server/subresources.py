"""Parts of objects that are more than fields: binding and eviction of pods, their logs, and what is not to be had here.

Source: Kubernetes API reference; answers as kube-apiserver gives them.
"""

import re
from typing import Final

import msgspec

from jobset.local import objects
from jobset.local.objects import Object
from jobset.local.problems import Cause, Problem
from jobset.local.server import answers, bodies, deleting, logs, queries, refusals, updating
from jobset.local.server.planes import Plane
from jobset.local.server.registry import Target

_PLAIN: Final = re.compile(r'[a-z0-9]([-.a-z0-9]*[a-z0-9])?')
"""Names of objects and containers, and uids: nothing that leads to another folder."""


class Subresources:
    """Answers for pods and their like."""

    def __init__(self, plane: Plane, updater: updating.Updater, deleter: deleting.Deleter) -> None:
        self._plane = plane
        self._updater = updater
        self._deleter = deleter

    async def post(self, target: Target, call: answers.Call, params: queries.Params) -> answers.Answer:
        """Answers a POST to a subresource."""
        match target.kind.key, target.subresource:
            case 'pods', 'binding':
                return await self.bind(target, call, params)
            case 'pods', 'eviction':
                return await self._evict(target, call, params)
            case 'pods', 'exec' | 'attach' | 'portforward':
                raise self._no_connection(target)
            case 'serviceaccounts', 'token':
                # Nobody here would take such a token: processes of pods use the credentials of the user.
                raise Problem.not_found('serviceaccounts/token', '', target.name)
            case _:
                raise refusals.method_not_allowed()

    def log(self, target: Target, params: queries.Params) -> answers.Stream:
        """Answers a GET of a pod's log."""
        pod = self._logged_pod(target, params)
        container = _container(pod, params.text('container'), target.name)
        source = self._plane.log_source
        if source is None:
            text = f'container "{container}" in pod "{target.name}" has no log: this control plane runs no nodes'
            raise Problem.bad_request(text)
        tail = params.number('tailLines')
        since = params.number('sinceSeconds')
        most = params.number('limitBytes')
        run = params.number(logs.RUN)
        least_of = ('tailLines', tail, 0), ('sinceSeconds', since, 1), ('limitBytes', most, 1), (logs.RUN, run, 0)
        for key, value, least in least_of:
            if value is not None and value < least:
                text = f'Invalid value: {value}: must be greater than {"or equal to " if not least else ""}0'
                raise Problem.invalid('PodLogOptions', '', target.name, [Cause(key, text)])
        wanted = logs.Wanted(
            container=container,
            follow=params.flag('follow'),
            previous=params.flag('previous'),
            run=run,
            timestamps=params.flag('timestamps'),
            since_seconds=since,
            since_time=params.text('sinceTime'),
            tail_lines=tail,
            limit_bytes=most,
        )
        return answers.Stream(source.read(pod, wanted), answers.LOG)

    async def bind(self, target: Target, call: answers.Call, params: queries.Params) -> answers.Answer:
        """Answers a POST to ``pods/binding``, or of a Binding: the pod goes to that node, once."""
        writing = queries.Writing.read(params, 'CreateOptions')
        binding, _ = bodies.decode(call, 'Binding', queries.IGNORE)
        name = objects.name(binding)
        if target.name and name and name != target.name:
            raise Problem.bad_request('name in URL does not match name in Binding object')
        wanted = binding.get('target') or {}
        node = str(wanted.get('name') or '')
        if not node:
            raise refusals.internal('target.name: Required value')
        if wanted.get('kind') not in (None, '', 'Node'):
            shown = wanted.get('kind')
            raise refusals.internal(f'target.kind: Unsupported value: "{shown}": supported values: "Node", "<empty>"')
        target = Target(target.kind, target.namespace, target.name or name)
        change = updating.Change(
            target=Target(target.kind, target.namespace, target.name, 'binding'),
            make=lambda pod: _bound(pod, binding, node, objects.stamp(self._plane.now())),
            manager='',
            said=call.said,
            dry_run=writing.dry_run,
        )
        await self._updater.change(change)
        return _done()

    async def _evict(self, target: Target, call: answers.Call, params: queries.Params) -> answers.Answer:
        eviction, _ = bodies.decode(call, 'Eviction', queries.IGNORE)
        name = objects.name(eviction)
        if name and name != target.name:
            raise Problem.bad_request('name in URL does not match name in Eviction object')
        self._pod(target)
        wanted = eviction.get('deleteOptions') or {}
        body = answers.Call('DELETE', call.path, body=msgspec.json.encode(wanted) if wanted else b'')
        options = deleting.read(body, params)
        await self._deleter.remove(target.kind, target.namespace, target.name, options, said=call.said)
        return _done()

    def no_connection(self, target: Target) -> Problem:
        """Why nobody can be connected to a process of the pod."""
        return self._no_connection(target)

    def _no_connection(self, target: Target) -> Problem:
        pod = self._pod(target)
        if not (pod.get('spec') or {}).get('nodeName'):
            return Problem.bad_request(f'pod {target.name} does not have a host assigned')
        text = (
            f'pods/{target.subresource} is not served by this control plane: the containers of pod {target.name} are '
            'plain processes of this machine'
        )
        return Problem.bad_request(text)

    def _logged_pod(self, target: Target, params: queries.Params) -> Object:
        """The pod; one that is asked for by its uid may be gone, and its container is then taken at its word."""
        uid = params.text(logs.UID)
        if not uid:
            return self._pod(target)
        record = self._plane.store.get(target.kind.key, target.namespace, target.name)
        if record is not None:
            pod = self._plane.open(target.kind, record)
            if objects.metadata(pod)['uid'] == uid:
                return pod
        container = params.text('container')
        if not all(map(_PLAIN.fullmatch, (target.namespace or '', target.name, uid, container))):
            raise Problem.not_found(target.kind.plural, target.kind.group, target.name)
        meta = {'namespace': target.namespace, 'name': target.name, 'uid': uid}
        return {'metadata': meta, 'spec': {'containers': [{'name': container}]}}

    def _pod(self, target: Target) -> Object:
        record = self._plane.store.get(target.kind.key, target.namespace, target.name)
        if record is None:
            raise Problem.not_found(target.kind.plural, target.kind.group, target.name)
        return self._plane.open(target.kind, record)


def _bound(pod: Object, binding: Object, node: str, now: str) -> Object:
    name = objects.name(pod)
    spec = dict(pod.get('spec') or {})
    found = dict(objects.metadata(pod))

    def conflict(why: str) -> Problem:
        return Problem.conflict('pods/binding', '', name, why)

    if found.get('deletionTimestamp'):
        raise conflict(f'pod {name} is being deleted, cannot be assigned to a host')
    if spec.get('nodeName'):
        raise conflict(f'pod {name} is already assigned to node "{spec["nodeName"]}"')
    if spec.get('schedulingGates'):
        raise conflict(f'pod {name} has non-empty .spec.schedulingGates')
    uid = objects.metadata(binding).get('uid')
    if uid and uid != found['uid']:
        raise conflict(f'Precondition failed: UID in precondition: {uid}, UID in object meta: {found["uid"]}')
    spec['nodeName'] = node
    for key in ('annotations', 'labels'):
        more = objects.metadata(binding).get(key)
        if more:
            found[key] = (found.get(key) or {}) | more
    status = dict(pod.get('status') or {})
    conditions = [one for one in status.get('conditions') or () if one.get('type') != 'PodScheduled']
    conditions.append({'type': 'PodScheduled', 'status': 'True', 'lastProbeTime': None, 'lastTransitionTime': now})
    status['conditions'] = conditions
    return pod | {'metadata': found, 'spec': spec, 'status': status}


def _container(pod: Object, wanted: str, name: str) -> str:
    spec = pod.get('spec') or {}
    regular = [str(one.get('name')) for one in spec.get('containers') or ()]
    initial = [str(one.get('name')) for one in spec.get('initContainers') or ()]
    if wanted:
        if wanted not in (*regular, *initial):
            raise Problem.bad_request(f'container {wanted} is not valid for pod {name}')
        return wanted
    chosen = (objects.metadata(pod).get('annotations') or {}).get('kubectl.kubernetes.io/default-container')
    if chosen in regular:
        return str(chosen)
    if len(regular) == 1:
        return regular[0]
    text = f'a container name must be specified for pod {name}, choose one of: [{" ".join(regular)}]'
    if initial:
        text += f' or one of the init containers: [{" ".join(initial)}]'
    raise Problem.bad_request(text)


def _done() -> answers.Answer:
    body: Object = {'kind': 'Status', 'apiVersion': 'v1', 'metadata': {}, 'status': 'Success', 'code': 201}
    return answers.Answer.of(body, 201)
