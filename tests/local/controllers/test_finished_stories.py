"""Jobs that go some time after their end, and events after an hour."""

import datetime

import pytest

from jobset.api import meta
from jobset.kube import requests
from jobset.local import objects
from jobset.local.controllers import expiry, finished, models
from tests.local.controllers import world
from tests.local.controllers.world import World

NOW = datetime.datetime(2026, 11, 30, 12, tzinfo=datetime.UTC)


def _job(ttl: int | None, condition: str = '', seconds_ago: int = 0, deleting: str | None = None) -> models.Job:
    stamp = objects.stamp(NOW - datetime.timedelta(seconds=seconds_ago))
    conditions = (meta.Condition(type=condition, status='True', last_transition_time=stamp),) if condition else ()
    return models.Job(
        metadata=meta.Common(name='j', deletion_timestamp=deleting),
        spec=models.JobSpec(ttl_seconds_after_finished=ttl),
        status=models.JobStatus(conditions=conditions),
    )


@pytest.mark.parametrize(
    ('job', 'due'),
    [
        pytest.param(_job(None, 'Complete'), None, id='stays'),
        pytest.param(_job(10), None, id='runs'),
        pytest.param(_job(10, 'Suspended'), None, id='is suspended'),
        pytest.param(_job(10, 'SuccessCriteriaMet'), None, id='is about to end'),
        pytest.param(_job(10, 'Complete', 3), 7, id='will go'),
        pytest.param(_job(10, 'Failed', 10), 0, id='has failed, and goes'),
        pytest.param(_job(0, 'Complete'), 0, id='goes at once'),
        pytest.param(_job(10, 'Complete', 60, deleting='2026-11-30T12:00:00Z'), None, id='goes already'),
    ],
)
def test_when_a_job_is_due(job: models.Job, due: float | None) -> None:
    assert finished.due_in(job, NOW) == due


@pytest.mark.parametrize(
    ('event', 'told'),
    [
        pytest.param({'event_time': '2026-11-30T10:00:00.000000Z'}, 10, id='once'),
        pytest.param({'deprecated_last_timestamp': '2026-11-30T09:00:00Z'}, 9, id='in the old way'),
        pytest.param(
            {
                'event_time': '2026-11-30T08:00:00.000000Z',
                'series': models.EventSeries(last_observed_time='2026-11-30T11:00:00.000000Z'),
            },
            11,
            id='again',
        ),
        pytest.param({'event_time': 'never'}, 12, id='at no time'),
    ],
)
def test_when_an_event_was_told(event: dict[str, object], told: int) -> None:
    made = models.Event(metadata=meta.Common(name='e'), **event)  # type: ignore[arg-type]
    assert expiry.last_told(made, NOW) == NOW.replace(hour=told)


@world.story
async def test_a_job_goes_when_its_time_is_over(w: World) -> None:
    template = {'spec': {'restartPolicy': 'Never', 'containers': [world.CONTAINER]}}
    spec = {'ttlSecondsAfterFinished': 3, 'suspend': True, 'template': template}
    await w.create(requests.JOBS, 'j', spec=spec)
    stamp = objects.stamp(w.now())
    condition = {'status': 'True', 'lastTransitionTime': stamp, 'lastProbeTime': stamp, 'reason': 'X', 'message': ''}
    status = {
        'startTime': stamp,
        'conditions': [{'type': 'FailureTarget'} | condition, {'type': 'Failed'} | condition],
    }

    await w.patch(requests.JOBS, 'j', {'status': status}, 'status')

    await w.settle(1)
    assert await w.get(requests.JOBS, 'j') is not None
    await w.gone(requests.JOBS, 'j')


@world.story(is_ours=True)
async def test_events_go_an_hour_after_they_were_told(w: World) -> None:
    async def tell(name: str) -> None:
        await w.create(
            requests.EVENTS,
            name,
            eventTime=objects.micro_stamp(w.now()),
            reason='Because',
            type='Normal',
            action='Acting',
            reportingController='c',
            reportingInstance='i',
            regarding={'apiVersion': 'v1', 'kind': 'ConfigMap', 'name': 'a', 'namespace': w.namespace},
            note='n',
        )

    await tell('first')
    await w.settle(1800)
    await tell('second')
    await w.settle(1790)
    assert await w.names(requests.EVENTS) == {'first', 'second'}
    await w.settle(20)
    assert await w.names(requests.EVENTS) == {'second'}
    series = {'count': 2, 'lastObservedTime': objects.micro_stamp(w.now())}
    await w.patch(requests.EVENTS, 'second', {'series': series})
    await w.settle(3590)
    assert await w.names(requests.EVENTS) == {'second'}
    await w.settle(20)
    assert await w.names(requests.EVENTS) == set()
