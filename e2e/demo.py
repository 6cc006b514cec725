"""The whole way on one screen: a real cluster, our controller in it, a training pipeline, and the metric it trained.

    python -m e2e.demo [--keep]

What it starts it stops, also after Ctrl-C. A cluster that runs already is taken and left running, with our controller
in it.
"""

import argparse
import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator
from typing import Final, NoReturn

import yaml

from e2e import api, deployment
from e2e.cluster import names
from e2e.kubectl import Kubectl
from jobset.api import keys
from tests.scenarios.api import Api, Object, Objects

SAMPLE: Final = deployment.ROOT / 'samples' / 'pipeline.yaml'
NAMESPACE: Final = 'jobset-demo'
NAME: Final = 'pipeline'
TOLD: Final = 'pipeline-train-0-0'
"""The pod whose words are shown: rank 0."""

SECONDS: Final = 180
"""How long the pipeline may take."""

LOOK_SECONDS: Final = 0.3
GONE: Final = 130
"""Exit code of a process that was told to end, as shells have it."""


class PipelineError(RuntimeError):
    """The pipeline did not come to a good end."""


class Screen:
    """Lines with the time since the beginning and what they are about."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def say(self, subject: str, text: str) -> None:
        print(f'{time.monotonic() - self._began:6.1f} s  {subject:<12} {text}', flush=True)

    @contextlib.contextmanager
    def step(self, subject: str, begins: str, done: str) -> Iterator[None]:
        """A step that says when it begins and when it is done."""
        self.say(subject, f'{begins} ...')
        yield
        self.say(subject, done)


def main() -> int:
    """Run the demo; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        '--keep', action='store_true', help='leave the cluster, the controller and the pipeline running'
    )
    arguments = parser.parse_args()
    screen = Screen()

    def interrupted(*_: object) -> NoReturn:
        screen.say('demo', 'interrupted')
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupted)
    signal.signal(signal.SIGTERM, interrupted)
    try:
        with cluster(screen, keep=arguments.keep) as kubectl:
            controller(screen, kubectl)
            with pipeline(screen, kubectl, keep=arguments.keep):
                screen.say('result', watch(screen, kubectl))
    except KeyboardInterrupt:
        return GONE
    except Exception as error:
        # Whatever it was, words help a newcomer more than a traceback.
        print(f'\nerror: {error}', file=sys.stderr)
        return 1
    return 0


@contextlib.contextmanager
def cluster(screen: Screen, *, keep: bool) -> Iterator[Kubectl]:
    """A full cluster; it is stopped at the end when it did not run before."""
    place = deployment.Cluster(os.environ.get('CLUSTER_NAME') or names.default(deployment.ROOT))
    ran = place.runs()
    if not ran:
        screen.say('cluster', 'starting; the first time, Kubernetes is built from source, which takes ten minutes ...')
    try:
        kubectl = place.up()
        version = yaml.safe_load(kubectl('version', '-o', 'yaml'))['serverVersion']['gitVersion']
        screen.say('cluster', f'{place.name}: Kubernetes {version} {"was running already" if ran else "is up"}')
        if deployment.image() is None:
            with screen.step('controller', 'building its image from this checkout', 'its image is on the node'):
                place.load_controller()
        yield kubectl
        if keep:
            screen.say('cluster', f'left running; stop it with: python -m e2e.cluster down --name {place.name}')
    finally:
        if not ran and not keep:
            with _undisturbed(), screen.step('cluster', 'stopping', 'stopped'):
                place.down()


def controller(screen: Screen, kubectl: Kubectl) -> None:
    """Deploy our controller, as users do."""
    with screen.step('controller', 'kubectl apply --server-side -k config/default', 'ready, and its webhooks answer'):
        deployment.deploy(kubectl)
        deployment.wait_until_ready(kubectl)


@contextlib.contextmanager
def pipeline(screen: Screen, kubectl: Kubectl, *, keep: bool) -> Iterator[None]:
    """The pipeline in a namespace of its own; both go at the end. Says what was seen of it when the block fails."""
    kubectl('delete', 'namespace', NAMESPACE, '--ignore-not-found')
    kubectl('create', 'namespace', NAMESPACE)
    try:
        kubectl('-n', NAMESPACE, 'apply', '-f', str(SAMPLE))
        screen.say('pipeline', f'kubectl apply -f {SAMPLE.relative_to(deployment.ROOT)}')
        yield
    except Exception:
        for namespace in (NAMESPACE, deployment.NAMESPACE):
            print(deployment.diagnosis(kubectl, namespace), file=sys.stderr)
        raise
    finally:
        if not keep:
            with _undisturbed(), screen.step('pipeline', 'kubectl delete', 'deleted, with its Jobs and its volume'):
                kubectl('-n', NAMESPACE, 'delete', '--cascade=foreground', '-f', str(SAMPLE))
                kubectl('delete', 'namespace', NAMESPACE, '--wait=false')


def watch(screen: Screen, kubectl: Kubectl) -> str:
    """Show what happens until the pipeline has ended; returns the line with the metric.

    Raises :class:`PipelineError` when it fails or takes too long.
    """
    end = time.monotonic() + SECONDS
    with api.connected(kubectl) as server:
        view = View(screen, server)
        while not (state := view.look()):
            if time.monotonic() > end:
                raise PipelineError(f'pipeline: not at its end after {SECONDS} s')
            time.sleep(LOOK_SECONDS)
    if state != 'Completed':
        raise PipelineError(f'pipeline: the JobSet ended as {state}; the logs above say why')
    if view.metric is None:
        raise PipelineError('pipeline: complete, but rank 0 printed no metric')
    return view.metric


class View:
    """What has been shown of the pipeline, so that each look shows only what is new."""

    def __init__(self, screen: Screen, server: Api) -> None:
        self.metric: str | None = None
        self._screen = screen
        self._server = server
        self._stages: dict[str, str] = {}
        self._told: dict[str, int] = {}
        self._events: set[str] = set()

    def look(self) -> str | None:
        """Show what is new; returns the terminal state once there is one."""
        jobset = self._server.request('GET', f'/apis/{keys.API_VERSION}/namespaces/{NAMESPACE}/jobsets/{NAME}')
        pods, _ = self._server.snapshot(f'/api/v1/namespaces/{NAMESPACE}/pods')
        self._show_stages(jobset, pods)
        self._show_log(pods)
        self._show_events()
        terminal: str | None = jobset.get('status', {}).get('terminalState')
        return terminal

    def _show_stages(self, jobset: Object, pods: Objects) -> None:
        for stage in jobset['spec']['replicatedJobs']:
            text = stage_text(stage, pods)
            if self._stages.get(stage['name']) != text:
                self._stages[stage['name']] = text
                self._screen.say(stage['name'], text)

    def _show_log(self, pods: Objects) -> None:
        for name, pod in pods.items():
            if name.startswith(f'{TOLD}-') and pod['status'].get('phase') in ('Running', 'Succeeded', 'Failed'):
                lines = self._server.text(f'/api/v1/namespaces/{NAMESPACE}/pods/{name}/log').splitlines()
                for line in lines[self._told.get(name, 0) :]:
                    self._screen.say('  rank 0', line)
                self._told[name] = len(lines)
                self.metric = next((line for line in lines if line.startswith('final ')), None)

    def _show_events(self) -> None:
        events, _ = self._server.snapshot(f'/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events')
        for name, event in sorted(events.items(), key=lambda each: str(each[1]['eventTime'])):
            if event['regarding']['kind'] == keys.KIND and name not in self._events:
                self._events.add(name)
                self._screen.say('event', f'{event["reason"]}: {event.get("note", "")}')


def stage_text(stage: Object, pods: Objects) -> str:
    """Where a stage stands, in words."""
    label = keys.REPLICATED_JOB_NAME
    phases = [
        pod['status'].get('phase') for pod in pods.values() if pod['metadata']['labels'].get(label) == stage['name']
    ]
    wanted = stage.get('replicas', 1) * stage['template']['spec']['parallelism']
    if not phases:
        before = [each['name'] for each in stage.get('dependsOn', ())]
        return f'waits for {", ".join(before)}' if before else 'waits for its pods'
    words = {'Pending': 'starting', 'Running': 'running', 'Succeeded': 'done', 'Failed': 'failed'}
    counts = [f'{phases.count(phase)} {word}' for phase, word in words.items() if phase in phases]
    return f'{wanted} {"pod" if wanted == 1 else "pods"}: {", ".join(counts)}'


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Clean up without being interrupted: every step of it ends by itself."""
    handlers = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


if __name__ == '__main__':
    sys.exit(main())
