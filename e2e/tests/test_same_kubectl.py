"""kubectl says the same of the embedded control plane as of a real cluster: output, errors and exit codes."""

import dataclasses
import difflib
import json
import pathlib
import secrets
from collections.abc import Iterator, Sequence

import pytest

from e2e.kubectl import Kubectl
from e2e.tests import transcripts
from e2e.tests.transcripts import Said, Step, step
from jobset.local import daemon, homes
from tests.scenarios import space
from tests.scenarios.space import jobset, replicated


@pytest.fixture(scope='module')
def plane(tmp_path_factory: pytest.TempPathFactory, kubectl: Kubectl) -> Iterator[Kubectl]:
    """kubectl, the same program, of an embedded cluster."""
    home = homes.Home('same', tmp_path_factory.mktemp('plane') / 'same')
    daemon.up(home, ('--folder', str(home.folder)))
    try:
        yield kubectl.elsewhere(str(home.kubeconfig))
    finally:
        daemon.down(home)


HELLO = jobset('hello', replicated('main', 'echo first; echo second', pods=2))
LABELLED = {**HELLO, 'metadata': {'name': 'hello', 'labels': {'team': 'a'}}}
LONG = jobset('long', replicated('main', 'exec sleep 3600'))
WRONG = jobset('wrong', replicated('Main', 'true', replicas=-1), failurePolicy={'maxRestarts': -1, 'nope': 1})
BAD = jobset('bad', replicated('main', 'echo so it ends >&2; exit 3'))
CONFIG = {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'settings'}, 'data': {'a': '1', 'b': '2'}}
JOB = {
    'apiVersion': 'batch/v1',
    'kind': 'Job',
    'metadata': {'name': 'plain'},
    'spec': HELLO['spec']['replicatedJobs'][0]['template']['spec'],
}

PARTS = {
    'apiVersion': 'v1',
    'kind': 'Pod',
    'metadata': {'name': 'parts', 'labels': {'app': 'parts'}, 'annotations': {'example.com/why': 'to be described'}},
    'spec': {
        'restartPolicy': 'Never',
        'automountServiceAccountToken': False,
        'terminationGracePeriodSeconds': 1,
        'initContainers': [{'name': 'before', 'image': 'busybox', 'command': ['sh', '-c', 'echo before']}],
        'containers': [
            {
                'name': 'one',
                'image': 'busybox',
                'command': ['sh', '-c', 'echo one of $LEVEL; echo another; exec sleep 3600'],
                'env': [
                    {'name': 'LEVEL', 'valueFrom': {'configMapKeyRef': {'name': 'settings', 'key': 'a'}}},
                    {'name': 'SELF', 'valueFrom': {'fieldRef': {'fieldPath': 'metadata.name'}}},
                ],
                'resources': {'requests': {'cpu': '10m', 'memory': '8Mi'}, 'limits': {'memory': '64Mi'}},
                'ports': [{'containerPort': 8080, 'name': 'http'}],
                'volumeMounts': [{'name': 'settings', 'mountPath': '/settings'}],
                'readinessProbe': {'exec': {'command': ['true']}, 'periodSeconds': 1},
            },
            {'name': 'two', 'image': 'busybox', 'command': ['sh', '-c', 'echo two; exec sleep 3600']},
        ],
        'volumes': [{'name': 'settings', 'configMap': {'name': 'settings'}}],
        'tolerations': [{'key': 'example.com/any', 'operator': 'Exists'}],
    },
}
AGAIN = {
    'apiVersion': 'v1',
    'kind': 'Pod',
    'metadata': {'name': 'again'},
    'spec': {
        'restartPolicy': 'OnFailure',
        'automountServiceAccountToken': False,
        'terminationGracePeriodSeconds': 1,
        'volumes': [{'name': 'kept', 'emptyDir': {}}],
        'containers': [
            {
                'name': 'main',
                'image': 'busybox',
                'command': ['sh', '-c', 'ls /kept; test -e /kept/seen && exec sleep 3600; touch /kept/seen; exit 3'],
                'volumeMounts': [{'name': 'kept', 'mountPath': '/kept'}],
            }
        ],
    },
}
SERVICE = {
    'apiVersion': 'v1',
    'kind': 'Service',
    'metadata': {'name': 'parts'},
    'spec': {'selector': {'app': 'parts'}, 'ports': [{'name': 'http', 'port': 80, 'targetPort': 'http'}]},
}
CLAIM = {
    'apiVersion': 'v1',
    'kind': 'PersistentVolumeClaim',
    'metadata': {'name': 'data'},
    'spec': {
        'accessModes': ['ReadWriteOnce'],
        'storageClassName': 'none-such',
        'resources': {'requests': {'storage': '1Mi'}},
    },
}


def _text(obj: object) -> str:
    return json.dumps(obj)


def _changed(**data: str) -> str:
    return json.dumps({**CONFIG, 'data': {'a': '1', 'b': '2', **data}})


STORIES: dict[str, Sequence[Step]] = {
    'what there is': [
        step('api-resources -o name --api-group=batch', subset=True),
        step('api-resources --api-group=jobset.x-k8s.io'),
        step('api-resources --api-group=coordination.k8s.io -o wide', subset=True),
        step('api-resources --namespaced=true -o name', subset=True),
        step('api-versions', subset=True),
        step('get nothing'),
        step('get jobset nobody'),
        step('get jobsets'),
        step('get pods,jobs,services'),
        step('get namespace default -o name'),
    ],
    'explanations': [
        step('explain job.spec.backoffLimit'),
        step('explain pod.spec.containers.resources'),
        step('explain configmap'),
        step('explain jobset.spec.failurePolicy --recursive'),
        step('explain jobset.spec.nope'),
    ],
    'apply': [
        step('apply -f -', stdin=_text(HELLO)),
        step('apply -f -', stdin=_text(HELLO)),
        step('diff -f -', stdin=_text(HELLO)),
        step('diff -f -', stdin=_text(LABELLED)),
        step('apply -f -', stdin=_text(LABELLED)),
        step('wait --for=condition=Completed jobset/hello --timeout=60s'),
        step('get jobset hello'),
        step('get jobset hello -o wide'),
        step('get jobset hello -o name'),
        step('get jobset hello --show-labels'),
        step('get jobset -l team=a -o name'),
        step("get jobset -l 'team notin (a)' -o name"),
        step('get jobset hello -o jsonpath={.status.terminalState}'),
        step('get jobs'),
        step('get jobs -o wide'),
        step('get pods'),
        step('get events --field-selector involvedObject.kind=JobSet -o custom-columns=R:.reason,M:.message'),
        step('describe jobset hello'),
        step('logs job/hello-main-0'),
        step('logs job/hello-main-0 --tail=1'),
        step('logs job/hello-main-0 -c nobody'),
        step('logs -l jobset.sigs.k8s.io/jobset-name=hello --prefix=false --tail=-1'),
        step('get all'),
        step('get jobset hello -o yaml', shown=False),
        step('delete jobset hello'),
        step('delete jobset hello'),
        step('wait --for=delete jobset/hello --timeout=60s'),
    ],
    'server-side apply': [
        step('apply --server-side -f -', stdin=_text(CONFIG)),
        step('apply --server-side --field-manager=other -f -', stdin=_changed(a='3')),
        step('apply --server-side --field-manager=other --force-conflicts -f -', stdin=_changed(a='3')),
        step('get configmap settings -o jsonpath={.data}'),
        step('get configmap settings -o jsonpath={.metadata.managedFields[*].manager}'),
        step('get configmap settings'),
        step('diff --server-side -f -', stdin=_changed(b='5')),
        step('describe configmap settings'),
    ],
    'patches': [
        step('apply -f -', stdin=_text(CONFIG)),
        step('patch configmap settings --type=merge -p {"data":{"a":"9"}}'),
        step('patch configmap settings --type=merge -p {"data":{"a":"9"}}'),
        step('patch configmap settings --type=json -p [{"op":"test","path":"/data/a","value":"no"}]'),
        step('patch configmap settings --type=json -p [{"op":"remove","path":"/data/b"}]'),
        step('patch configmap settings -p {"data":{"c":"1"}}'),
        step('patch configmap settings -p nonsense'),
        step('patch configmap nobody -p {}'),
        step('label configmap settings x=y'),
        step('annotate configmap settings x=y'),
        step('label configmap settings x=z'),
        step('get configmap settings -o jsonpath={.data}'),
        step('create configmap settings --from-literal=a=1'),
        step('create secret generic hidden --from-literal=a=1'),
        step('get secret hidden -o jsonpath={.data.a}'),
        step('get secrets'),
        step('delete configmap settings'),
        step('delete secret --all'),
    ],
    'what commands make': [
        step('create configmap made --from-literal=a=1 --from-literal=b=two'),
        step('get configmap made -o jsonpath={.data}'),
        step('describe configmap made'),
        step('create secret generic hidden --from-literal=a=1'),
        step('create secret docker-registry login --docker-username=u --docker-password=p --docker-server=s'),
        step('describe secret hidden'),
        step('get secrets'),
        step('create serviceaccount somebody'),
        step('get serviceaccount somebody'),
        step('describe serviceaccount somebody'),
        step('create job once --image=busybox -- sh -c true'),
        step('wait --for=condition=complete job/once --timeout=60s'),
        step('get job once -o jsonpath={.spec.template.spec.containers[0].command}'),
        step('create job once --image=busybox -- true'),
        step('create job dry --image=busybox --dry-run=server -o yaml -- true'),
        step('create service clusterip svc --tcp=80:8080'),
        step('get service svc -o jsonpath={.spec.ports[0].targetPort}'),
        step('run once --image=busybox --restart=Never --labels=a=b -- sh -c true'),
        step('wait --for=jsonpath={.status.phase}=Succeeded pod/once --timeout=60s'),
        step('get pod once --show-labels'),
        step('label pod once c=d'),
        step('label pod once c=d'),
        step('label pod once c-'),
        step('annotate pod once note=yes'),
        step('annotate pod once note=no'),
        step('annotate pod once note=no --overwrite'),
        step('get pod once -o jsonpath={.metadata.annotations.note}'),
        step('scale job/once --replicas=2'),
        step('scale jobset/once --replicas=2'),
        step('rollout status job/once'),
        step('set image pod/once once=busybox:2'),
        step('create priorityclass high --value=10 --dry-run=server -o yaml'),
        step('create quota none --hard=pods=1 --dry-run=client -o name'),
        step('delete job once --cascade=orphan'),
        step('get pods -l job-name=once -o jsonpath={.items[*].metadata.ownerReferences}'),
        step('delete pods --all --wait=false', shown=False),
    ],
    'a pod described': [
        step('apply -f -', stdin=_text(CONFIG)),
        step('apply -f -', stdin=_text(SERVICE)),
        step('apply -f -', stdin=_text(PARTS)),
        step('wait --for=condition=Ready pod/parts --timeout=60s'),
        step('get pod parts'),
        step('describe pod parts'),
        step('get service parts'),
        step('describe service parts'),
        step('get endpointslices -o jsonpath={.items[*].ports}'),
        step('logs parts'),
        step('logs parts -c one'),
        step('logs parts -c one --tail=1'),
        step('logs parts -c one --since=1h'),
        step('logs parts -c one --since=1ns'),
        step('logs parts -c one --limit-bytes=3'),
        step('logs parts -c before'),
        step('logs parts --all-containers --prefix', ordered=False),
        step('logs -l app=parts --all-containers --prefix --tail=-1', ordered=False),
        step('logs parts -c one -p'),
        step('logs parts -c nobody'),
        step('get pods -w --request-timeout=2s'),
        step('get pod parts -o wide', shown=False),
        step('get pod parts -o custom-columns=P:.status.phase,Q:.status.qosClass'),
        step('get pods --field-selector status.phase=Running -o name'),
        step('get pods --sort-by=.metadata.name'),
        step('delete pod parts --grace-period=0 --force'),
        step('get pods'),
        step('delete service parts'),
    ],
    'a pod that starts again': [
        step('apply -f -', stdin=_text(AGAIN)),
        step('wait --for=jsonpath={.status.containerStatuses[0].restartCount}=1 pod/again --timeout=60s'),
        step('wait --for=condition=Ready pod/again --timeout=60s'),
        step('get pod again'),
        step('logs again'),
        step('logs again -p'),
        step('describe pod again'),
        step('delete pod again --now'),
    ],
    'other descriptions': [
        step('describe node', shown=False),
        step('get nodes -o name', shown=False),
        step('apply -f -', stdin=_text(CLAIM)),
        step('get pvc'),
        step('describe pvc data --show-events=false'),
        step('delete pvc data'),
        step('get storageclass nobody'),
        step('get priorityclasses -o custom-columns=N:.metadata.name,V:.value,P:.preemptionPolicy', subset=True),
        step('describe priorityclass system-node-critical', subset=True),
        step('describe namespace nobody'),
        step('get events', shown=False),
        step('get cm -o name'),
        step('get sa'),
        step('describe pod nobody'),
        step('explain pod.spec.containers.nope'),
        step('explain nothing'),
        step('explain persistentvolumeclaim.spec.resources'),
        step('explain workload.spec'),
        step('explain event --api-version=events.k8s.io/v1'),
        step('api-resources --api-group=scheduling.k8s.io', subset=True),
        step('auth can-i create jobs'),
        step('auth can-i list jobsets.jobset.x-k8s.io -A'),
        step('auth can-i delete nothing'),
        step('auth can-i --list', shown=False),
        step('auth whoami', shown=False),
        step('cluster-info', shown=False),
        step('version -o yaml', shown=False),
    ],
    'deletions': [
        step('create -f -', stdin=_text(JOB)),
        step('delete job plain --cascade=orphan'),
        step('delete job plain --ignore-not-found'),
        step('create -f -', stdin=_text(JOB)),
        step('delete job plain --cascade=background'),
        step('apply -f -', stdin=_text(LONG)),
        step('delete jobset long --cascade=nonsense'),
        step('delete jobset long --dry-run=server'),
        step('delete jobset long --cascade=background'),
        step('wait --for=delete pod -l jobset.sigs.k8s.io/jobset-name=long --timeout=60s', shown=False),
        step('get jobs'),
        step('delete -f -', stdin=_text(LONG)),
        step('delete jobsets --all'),
        step('delete configmap -l a=b'),
    ],
    'mistakes': [
        step('apply -f -', stdin=_text(WRONG)),
        step('create -f -', stdin=_text(WRONG)),
        step('apply --validate=false -f -', stdin=_text(WRONG)),
        step('apply -f -', stdin='a: [1'),
        step('apply -f -', stdin='kind: JobSet'),
        step('apply -f -', stdin=_text({**JOB, 'spec': {**JOB['spec'], 'parallelism': -1}})),
        step('apply -f -', stdin=_text({**JOB, 'spec': {**JOB['spec'], 'parallelism': 'many'}})),
        step('create namespace Wrong'),
        step('apply -n nowhere -f -', stdin=_text(CONFIG)),
        step('get pods --field-selector nothing=1'),
        step('get pods -l a=b=c'),
        step('logs nobody'),
    ],
    'a Job of its own': [
        step('create -f -', stdin=_text(JOB)),
        step('create -f -', stdin=_text(JOB)),
        step('wait --for=condition=complete job/plain --timeout=60s'),
        step('get job plain'),
        step('get job plain -o jsonpath={.status.succeeded}'),
        step('get job plain -o jsonpath={.status.conditions[*].type}'),
        step('describe job plain', shown=False),
        step('logs job/plain'),
        step('delete job plain --cascade=foreground'),
        step('get pods'),
    ],
    'a failure': [
        step('apply -f -', stdin=_text(BAD)),
        step('wait --for=condition=Failed jobset/bad --timeout=60s'),
        step('get jobset bad'),
        step('get pods'),
        step('logs job/bad-main-0'),
        step('get jobset bad -o jsonpath={.status.conditions[*].message}'),
        step('delete jobset bad --cascade=foreground'),
        step('get jobs,pods'),
    ],
    'something that runs': [
        step('apply -f -', stdin=_text(LONG)),
        step('wait --for=create pod -l jobset.sigs.k8s.io/jobset-name=long --timeout=60s', shown=False),
        step('wait --for=condition=Ready pod -l jobset.sigs.k8s.io/jobset-name=long --timeout=60s'),
        step('get pods'),
        step('get jobset long'),
        step('patch jobset long --type=merge -p {"spec":{"suspend":true}}'),
        step('wait --for=condition=Suspended jobset/long --timeout=60s'),
        step('wait --for=delete pod -l jobset.sigs.k8s.io/jobset-name=long --timeout=60s', shown=False),
        step('get jobs'),
        step('delete -f -', stdin=_text(LONG)),
        step('get jobs,services'),
    ],
}

DIFFERENT: dict[str, str] = {}
"""Commands that are answered otherwise, by ``story: command``, each with the reason."""


@pytest.mark.parametrize('name', list(STORIES))
def test_kubectl_says_the_same(name: str, kubectl: Kubectl, plane: Kubectl, tmp_path: pathlib.Path) -> None:
    namespace = f'same-{secrets.token_hex(3)}'
    steps = STORIES[name]
    said: dict[str, list[Said]] = {}
    for where, bound in (('real', kubectl), ('plane', plane)):
        bound('create', 'namespace', namespace)
        bound('label', 'namespace', namespace, f'{space.MARK}=true')
        said[where] = transcripts.play(bound, namespace, steps)
        bound('delete', 'namespace', namespace, '--wait=false')
        (tmp_path / where).write_text(
            '\n'.join(f'$ {each.command}\n{each.output}\n{each.errors}' for each in said[where])
        )
    differences = [
        (ours, real)
        for asked, real, ours in zip(steps, said['real'], said['plane'], strict=True)
        if f'{name}: {ours.command}' not in DIFFERENT and _comparable(ours, asked, real) != real
    ]
    assert not differences, '\n'.join(_told(ours, real) for ours, real in differences)


def _told(ours: Said, real: Said) -> str:
    lines = [f'$ {real.command}']
    if ours.code != real.code:
        lines.append(f'exit codes: {real.code} of the real cluster, {ours.code} of the plane')
    for theirs, own in ((real.output, ours.output), (real.errors, ours.errors)):
        lines += difflib.unified_diff(theirs.splitlines(), own.splitlines(), 'real', 'plane', lineterm='')
    return '\n'.join(lines)


def _comparable(ours: Said, asked: Step, real: Said) -> Said:
    if not asked.subset:
        return ours
    more = [line for line in ours.output.splitlines() if line not in real.output.splitlines()]
    return ours if more else dataclasses.replace(ours, output=real.output)
