"""The controller with its caches and queues on a server in virtual time: above all, what goes wrong between them."""

import asyncio
import contextlib
from typing import Any

import pytest

from jobset.kube import requests
from tests.kube import fakes, virtual
from tests.kube.fakes import Answer, Json, Seen
from tests.local.jobs import plane
from tests.local.jobs.plane import Server, controlled, settled

SUCCEEDED = {'phase': 'Succeeded'}
FAILED = {
    'phase': 'Failed',
    'containerStatuses': [
        {'name': 'a', 'state': {'terminated': {'exitCode': 1, 'finishedAt': '2026-01-01T00:00:05Z'}}},
    ],
}


def _conditions(job: Json) -> list[str]:
    return [each['type'] for each in job['status'].get('conditions', [])]


@virtual.timed
async def test_job_from_its_start_to_its_end() -> None:
    server = Server()
    async with controlled(server):
        server.put_job('j', completions=2, parallelism=2)
        await settled(server)
        started = server.job('j')['status']
        for pod in server.pods():
            server.set_status(pod, **SUCCEEDED)
        await settled(server)

        names = sorted(pod['metadata']['name'] for pod in server.pods())
        assert started['active'] == 2
        assert _conditions(server.job('j')) == ['SuccessCriteriaMet', 'Complete']
        assert not any(map(plane.is_tracked, server.pods()))
        assert server.notes()[-1] == 'Completed: Job completed'
        assert set(server.notes()[:-1]) == {f'SuccessfulCreate: Created pod: {name}' for name in names}


@virtual.timed
async def test_no_pod_twice_while_the_watch_is_behind() -> None:
    server = Server()
    async with controlled(server) as carrier:
        carrier.deaf.add('pods')
        server.put_job('j', completions=3, parallelism=1)
        await settled(server)
        server.put_job('j', parallelism=2)
        await settled(server)
        carrier.listen()
        await settled(server)

        assert len(server.pods()) == 2
        assert plane.creates(server) == 2


@virtual.timed
async def test_answer_that_is_lost_makes_no_second_pod() -> None:
    server = Server()
    lost: list[Seen] = []

    def lose(seen: Seen) -> bool:
        if seen.method == 'POST' and seen.path.endswith('/pods') and not lost:
            lost.append(seen)
            return True
        return False

    server.lose = lose
    async with controlled(server) as carrier:
        carrier.deaf.add('pods')
        server.put_job('j')
        await settled(server, 30)

        assert len(lost) == 1
        assert len(server.pods()) == 1
        assert plane.creates(server) == 1
        assert server.job('j')['status']['active'] == 1


@virtual.timed
async def test_refused_pods_are_not_counted_and_tried_again() -> None:
    server = Server()
    quota = 3

    def refuse(seen: Seen) -> Answer | None:
        if seen.method == 'POST' and seen.path.endswith('/pods') and len(server.pods()) >= quota:
            return fakes.refusal(403, 'Forbidden', 'exceeded quota')
        return None

    server.refuse = refuse
    async with controlled(server):
        server.put_job('j', completions=7, parallelism=7)
        await settled(server)
        full = server.job('j')['status']
        asked = plane.creates(server)
        quota = 7
        await settled(server, 120)

        assert (full['active'], server.job('j')['status']['active']) == (3, 7)
        # One, two, then four at a time: those after a refusal are not even asked for.
        assert asked <= 7 + 10
        assert 'FailedCreate: Error creating: exceeded quota' in server.notes()


@virtual.timed
async def test_namespace_that_goes_is_left_alone() -> None:
    server = Server()

    def refuse(seen: Seen) -> Answer | None:
        if seen.method == 'POST' and seen.path.endswith('/pods'):
            causes = [{'reason': 'NamespaceTerminating', 'message': 'it goes', 'field': 'metadata.namespace'}]
            return Answer(403, fakes.status(403, 'Forbidden', 'it goes', causes=causes))
        return None

    server.refuse = refuse
    async with controlled(server):
        server.put_job('j')
        await settled(server, 300)

        # The status that says that there is no pod brings the second look, which is the last one.
        assert plane.creates(server) == 2
        assert server.notes() == []


@virtual.timed
async def test_status_written_by_somebody_else_meanwhile() -> None:
    server = Server()
    conflicts: list[Seen] = []

    def refuse(seen: Seen) -> Answer | None:
        if seen.path.endswith('/status') and not conflicts:
            conflicts.append(seen)
            return fakes.refusal(409, 'Conflict', 'the object has been modified')
        return None

    server.refuse = refuse
    async with controlled(server):
        server.put_job('j')
        await settled(server)

        assert len(server.pods()) == 1
        assert server.job('j')['status']['active'] == 1


@virtual.timed
async def test_finalizer_that_could_not_be_removed_counts_once() -> None:
    server = Server()
    refused: list[Seen] = []

    def refuse(seen: Seen) -> Answer | None:
        if seen.method == 'PATCH' and '/pods/' in seen.path and len(refused) < 2:
            refused.append(seen)
            return fakes.refusal(500, 'InternalError', 'later')
        return None

    server.refuse = refuse
    async with controlled(server):
        server.put_job('j', completions=3, parallelism=3)
        await settled(server)
        for pod in server.pods():
            server.set_status(pod, **SUCCEEDED)
        await settled(server, 30)

        assert len(refused) == 2
        assert server.job('j')['status']['succeeded'] == 3
        assert _conditions(server.job('j')) == ['SuccessCriteriaMet', 'Complete']


@virtual.timed
async def test_pods_of_a_job_that_is_gone_are_freed() -> None:
    server = Server()
    async with controlled(server):
        server.put_job('j', completions=2, parallelism=2)
        await settled(server)
        server.drop(requests.JOBS, plane.NAMESPACE, 'j')
        await settled(server)

        assert [plane.is_tracked(pod) for pod in server.pods()] == [False, False]


@virtual.timed
async def test_pods_of_somebody_else_are_left_alone() -> None:
    server = Server()
    owner = {'apiVersion': 'example.com/v1', 'kind': 'Job', 'name': 'x', 'uid': 'u', 'controller': True}
    metadata: dict[str, Any] = {'name': 'p', 'namespace': plane.NAMESPACE, 'uid': 'p', 'ownerReferences': [owner]}
    async with controlled(server):
        server.put(
            requests.PODS,
            plane.NAMESPACE,
            'p',
            metadata=metadata | {'finalizers': ['batch.kubernetes.io/job-tracking']},
        )
        await settled(server)

        assert plane.is_tracked(server.pods()[0])


@virtual.timed
async def test_deadline_wakes_by_itself() -> None:
    server = Server()
    async with controlled(server):
        server.put_job('j', activeDeadlineSeconds=3600)
        await settled(server, 3590)
        before = _conditions(server.job('j'))
        await settled(server, 20)

        assert before == []
        assert _conditions(server.job('j')) == ['FailureTarget', 'Failed']
        assert server.pods() == []


@virtual.timed
async def test_replacement_waits_without_anything_happening() -> None:
    server = Server()
    async with controlled(server):
        server.put_job('j')
        await settled(server)
        server.set_status(server.pods()[0], **FAILED)
        await settled(server, 8)
        before = len(server.pods())
        await settled(server, 8)

        assert (before, len(server.pods())) == (1, 2)


@virtual.timed
async def test_server_that_is_down_for_a_while() -> None:
    server = Server()
    async with controlled(server) as carrier:
        server.put_job('j', completions=5, parallelism=5)
        await server.notify()
        carrier.is_up = False
        await settled(server, 100)
        carrier.is_up = True
        await settled(server, 100)

        assert len(server.pods()) == 5
        assert server.job('j')['status']['active'] == 5


@virtual.timed
async def test_many_pods_are_made_several_at_once() -> None:
    server = Server()
    async with controlled(server):
        server.put_job('j', completions=100, parallelism=100)
        await settled(server)

        assert len(server.pods()) == 100
        # 1, 2, 4, 8, 16, 32, then the rest, 37.
        assert server.most_at_once == 37


@virtual.timed
async def test_pod_that_is_gone_already_needs_no_deletion() -> None:
    server = Server()
    async with controlled(server) as carrier:
        server.put_job('j', completions=2, parallelism=2)
        await settled(server)
        carrier.deaf.add('pods')
        for pod in server.pods():
            server.drop(requests.PODS, plane.NAMESPACE, pod['metadata']['name'])
        server.put_job('j', suspend=True)
        await settled(server, 30)

        status = server.job('j')['status']
        assert [(each['type'], each['status']) for each in status['conditions']] == [('Suspended', 'True')]
        assert not any('Delete' in note for note in server.notes())
        assert (status.get('active'), status['terminating']) == (None, 0)


@virtual.timed
async def test_pods_of_a_large_job_are_looked_at_together() -> None:
    server = Server()
    async with controlled(server):
        server.put_job('j', completions=200, parallelism=200)
        await settled(server)
        before = len(server.seen)
        for pod in server.pods():
            server.set_status(pod, phase='Running', conditions=[{'type': 'Ready', 'status': 'True'}])
            await settled(server, 0.001)
        await settled(server)

        assert server.job('j')['status']['ready'] == 200
        # Those that come within 0.12 s go into one status.
        assert len(server.seen) - before <= 3


@virtual.timed
async def test_server_error_on_creation_is_looked_into() -> None:
    server = Server()
    failed: list[Seen] = []

    def refuse(seen: Seen) -> Answer | None:
        if seen.method == 'POST' and seen.path.endswith('/pods') and not failed:
            failed.append(seen)
            server.answer(seen)
            return fakes.refusal(504, 'Timeout', 'too slow')
        return None

    server.refuse = refuse
    async with controlled(server) as carrier:
        carrier.deaf.add('pods')
        server.put_job('j')
        await settled(server, 30)

        assert len(server.pods()) == 1
        assert server.job('j')['status']['active'] == 1


@pytest.mark.parametrize('mode', ['Indexed', 'NonIndexed'])
@pytest.mark.parametrize('writes', range(1, 26))
def test_controller_that_dies_at_any_write(mode: str, writes: int) -> None:
    """Whatever it had written by then, the next one goes on from there, and all pods are counted once."""

    @virtual.timed
    async def story() -> None:
        server, died = Server(), asyncio.Event()
        left = writes

        def refuse(seen: Seen) -> Answer | None:
            nonlocal left
            if seen.method in requests.WRITES and '/events' not in seen.path:
                left -= 1
                if not left:
                    died.set()
            return None

        async def kubelet() -> None:
            failed = False
            while True:
                await settled(server, 1)
                for pod in server.pods():
                    if pod['status']['phase'] == 'Pending':
                        server.set_status(pod, **(SUCCEEDED if failed else FAILED))
                        failed = True

        server.refuse = refuse
        playing = asyncio.create_task(kubelet())
        async with controlled(server):
            server.put_job('j', completionMode=mode, completions=3, parallelism=2)
            await server.notify()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(died.wait(), 100)
        async with controlled(server):
            await settled(server, 100)
        playing.cancel()

        status = server.job('j')['status']
        assert _conditions(server.job('j')) == ['SuccessCriteriaMet', 'Complete']
        assert (status['succeeded'], status['failed'], status['uncountedTerminatedPods']) == (3, 1, {})
        assert len(server.pods()) == 4
        assert not any(map(plane.is_tracked, server.pods()))

    story()
