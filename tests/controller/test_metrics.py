"""The names and labels of metrics are a contract with dashboards."""

import pytest

from jobset.controller import metrics
from tests.controller import plane
from tests.core import build

JOBSET = build.jobset(build.part('a'))
ENDS = {'jobset_name': 'js', 'namespace': 'default'}


@pytest.fixture
def used() -> metrics.Metrics:
    """Metrics of which each has been used once."""
    one = metrics.Metrics()
    one.ended(JOBSET, 'Completed')
    one.ended(JOBSET, 'Failed')
    one.passed('error', 0.2)
    one.answered('409', 'PUT', 'example:6443', 0.1)
    one.leads('lock', now=True)
    one.event_dropped('refused')
    one.depth(4)
    one.added()
    one.retried()
    one.waited(0.5)
    one.worked(0.25)
    one.follow(lambda: 3.0, lambda: 2.0)
    return one


@pytest.mark.parametrize(
    ('name', 'labels', 'value'),
    [
        pytest.param('jobset_completed_total', ENDS, 1, id='completed'),
        pytest.param('jobset_failed_total', ENDS, 1, id='failed'),
        pytest.param('controller_runtime_reconcile_total', {'controller': 'jobset', 'result': 'error'}, 1, id='passes'),
        pytest.param('controller_runtime_reconcile_errors_total', {'controller': 'jobset'}, 1, id='failed passes'),
        pytest.param('controller_runtime_reconcile_time_seconds_sum', {'controller': 'jobset'}, 0.2, id='pass time'),
        pytest.param(
            'rest_client_requests_total',
            {'code': '409', 'host': 'example:6443', 'method': 'PUT'},
            1,
            id='requests to the API server',
        ),
        pytest.param('leader_election_master_status', {'name': 'lock'}, 1, id='leadership'),
        pytest.param('jobset_events_dropped_total', {}, 1, id='dropped events'),
        pytest.param('workqueue_depth', {'name': 'jobset'}, 4, id='queue depth'),
        pytest.param('workqueue_adds_total', {'name': 'jobset'}, 1, id='queue adds'),
        pytest.param('workqueue_retries_total', {'name': 'jobset'}, 1, id='queue retries'),
        pytest.param('workqueue_queue_duration_seconds_sum', {'name': 'jobset'}, 0.5, id='queue wait'),
        pytest.param('workqueue_work_duration_seconds_sum', {'name': 'jobset'}, 0.25, id='queue work'),
        pytest.param('workqueue_unfinished_work_seconds', {'name': 'jobset'}, 3, id='work under way'),
        pytest.param('workqueue_longest_running_processor_seconds', {'name': 'jobset'}, 2, id='oldest pass under way'),
    ],
)
def test_name_labels_and_value(used: metrics.Metrics, name: str, labels: dict[str, str], value: float) -> None:
    assert plane.sample(used, name, **labels) == value


@pytest.mark.parametrize('result', ['success', 'requeue_after'])
def test_passes_that_succeed_are_no_errors(result: str) -> None:
    one = metrics.Metrics()

    one.passed(result, 0.1)

    assert plane.sample(one, 'controller_runtime_reconcile_total', controller='jobset', result=result) == 1
    assert plane.sample(one, 'controller_runtime_reconcile_errors_total', controller='jobset') is None


def test_two_processes_share_nothing(used: metrics.Metrics) -> None:
    assert plane.sample(metrics.Metrics(), 'workqueue_adds_total', name='jobset') is None
    assert plane.sample(used, 'workqueue_adds_total', name='jobset') == 1


def test_exposition_is_prometheus_text_without_creation_times(used: metrics.Metrics) -> None:
    text = used.exposition().decode()

    assert 'jobset_completed_total{jobset_name="js",namespace="default"} 1.0\n' in text
    assert '_created' not in text
    assert 'process_resident_memory_bytes' in text


def test_deleted_jobset_leaves_no_series(used: metrics.Metrics) -> None:
    used.forget('default', 'js')

    assert 'jobset_name="js"' not in used.exposition().decode()
