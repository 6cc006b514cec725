import pytest

from jobset.api import features


@pytest.mark.parametrize(
    ('wanted', 'gates'),
    [
        pytest.param({}, features.FeatureGates(), id='nothing said'),
        pytest.param({'InPlaceRestart': True}, features.FeatureGates(in_place_restart=True), id='in-place restart'),
        pytest.param({'RestartJob': True}, features.FeatureGates(restart_job=True), id='restart of one Job'),
        pytest.param({'ElasticJobSet': True}, features.FeatureGates(elastic_jobset=True), id='elastic'),
        pytest.param(
            {'JobSetWorkloadAwareSchedulingAPI': True},
            features.FeatureGates(workload_aware_scheduling=True),
            id='gangs',
        ),
        pytest.param(
            {'JobSetActiveDeadlineSeconds': True, 'ExecutionAttemptsTracking': True},
            features.FeatureGates(active_deadline=True, execution_attempts=True),
            id='a limit and a counter',
        ),
        pytest.param(
            {'MutablePodResourcesForSuspendedJobSets': True},
            features.FeatureGates(mutable_resources=True),
            id='resources',
        ),
        pytest.param(
            {'TLSOptions': True, 'RestartJob': False},
            features.FeatureGates(),
            id='what is so anyway may be said',
        ),
    ],
)
def test_parse(wanted: dict[str, bool], gates: features.FeatureGates) -> None:
    assert features.parse(wanted) == gates


@pytest.mark.parametrize(
    ('wanted', 'text'),
    [
        pytest.param(
            {'Nonsense': True},
            'unrecognized feature gate: Nonsense; known ones are: '
            'ElasticJobSet, ExecutionAttemptsTracking, InPlaceRestart, JobSetActiveDeadlineSeconds, '
            'JobSetWorkloadAwareSchedulingAPI, MutablePodResourcesForSuspendedJobSets, RestartJob, TLSOptions',
            id='unknown',
        ),
        pytest.param(
            {'TLSOptions': False},
            'cannot set feature gate TLSOptions to false, feature is locked to true; remove the line',
            id='locked',
        ),
    ],
)
def test_refused(wanted: dict[str, bool], text: str) -> None:
    with pytest.raises(features.FeatureGateError) as raised:
        features.parse(wanted)
    assert str(raised.value) == text
