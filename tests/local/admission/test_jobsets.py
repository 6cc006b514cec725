"""The webhooks of JobSets in this process, under the configurations that are installed in clusters."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from jobset.admission import reviews
from jobset.api import features, keys, validation
from jobset.local import problems
from jobset.local.admission import calling, dispatch, jobsets
from tests.admission import asking
from tests.local.admission import made

MANIFESTS = Path(__file__).parents[3] / 'config' / 'components' / 'webhook' / 'manifests.yaml'


async def _look_up(namespace: str, names: Sequence[str]) -> Mapping[str, validation.Found]:
    return {}


def _installed() -> list[dict[str, Any]]:
    """The configurations with the names that ``config/default`` gives to namespace and service."""
    configurations = list(yaml.safe_load_all(MANIFESTS.read_text()))
    for configuration in configurations:
        for hook in configuration['webhooks']:
            hook['clientConfig']['service'] |= {'namespace': jobsets.NAMESPACE, 'name': jobsets.SERVICE}
    return configurations


@pytest.fixture
def dispatcher() -> dispatch.Dispatcher:
    registry = jobsets.registry(gates=features.FeatureGates(), look_up=_look_up, leaders=asking.NOBODY)
    one = dispatch.Dispatcher(calling.Caller(registry), lambda *_: None)
    mutating, validating = _installed()
    one.configure(mutating=[mutating], validating=[validating])
    return one


def _jobset(**spec: Any) -> dict[str, Any]:
    container = {'name': 'main', 'image': 'busybox'}
    template = {'spec': {'template': {'spec': {'containers': [container]}}}}
    return {
        'apiVersion': keys.API_VERSION,
        'kind': keys.KIND,
        'metadata': {'name': 'train', 'namespace': 'n'},
        'spec': {'replicatedJobs': [{'name': 'workers', 'replicas': 1, 'template': template}], **spec},
    }


async def test_defaults(dispatcher: dispatch.Dispatcher) -> None:
    sent = _jobset()

    completed = await dispatcher.mutate(made.asked(made.JOBSETS, object=sent, name='train'))

    assert completed is not None
    assert completed['spec']['successPolicy'] == {'operator': 'All'}
    assert completed['spec']['replicatedJobs'][0]['template']['spec']['completionMode'] == 'Indexed'
    assert 'successPolicy' not in sent['spec']
    request = reviews.Request(
        uid='u', kind=reviews.JOBSET, operation='CREATE', object=msgspec.Raw(msgspec.json.encode(sent))
    )
    assert (
        reviews.complete_jobset(request).patch
        == (
            await jobsets.registry(gates=features.FeatureGates(), look_up=_look_up, leaders=asking.NOBODY)[
                (jobsets.NAMESPACE, jobsets.SERVICE, keys.MUTATE_JOBSET_PATH)
            ](made.asked(made.JOBSETS, object=sent), 'u')
        ).patch
    )


async def test_a_refusal_names_all_mistakes(dispatcher: dispatch.Dispatcher) -> None:
    sent = _jobset()
    sent['metadata']['name'] = 'a' * 70
    completed = await dispatcher.mutate(made.asked(made.JOBSETS, object=sent))

    with pytest.raises(problems.Problem, match=r'admission webhook "vjobset\.kb\.io" denied the request: ') as raised:
        await dispatcher.validate(made.asked(made.JOBSETS, object=completed))
    assert raised.value.code == 422
    assert raised.value.status()['details']['causes']


async def test_a_good_one_is_let_through(dispatcher: dispatch.Dispatcher) -> None:
    completed = await dispatcher.mutate(made.asked(made.JOBSETS, object=_jobset()))
    await dispatcher.validate(made.asked(made.JOBSETS, object=completed))


async def test_what_must_not_change(dispatcher: dispatch.Dispatcher) -> None:
    old = await dispatcher.mutate(made.asked(made.JOBSETS, object=_jobset()))
    new = await dispatcher.mutate(made.asked(made.JOBSETS, object=_jobset()))
    assert new is not None
    new['spec']['replicatedJobs'][0]['name'] = 'others'

    with pytest.raises(problems.Problem, match='immutable'):
        await dispatcher.validate(made.asked(made.JOBSETS, 'UPDATE', object=new, old_object=old))


async def test_pods_of_jobsets_get_their_priority_and_no_other_pod_is_looked_at(
    dispatcher: dispatch.Dispatcher,
) -> None:
    metadata = {
        'name': 'p',
        'labels': {keys.JOBSET_NAME: 'train'},
        'annotations': {keys.JOBSET_NAME: 'train'},
    }
    pod: dict[str, Any] = {'metadata': metadata, 'spec': {'priority': 7}}
    other = {'metadata': {'name': 'q', 'annotations': metadata['annotations']}, 'spec': {'priority': 7}}

    labelled = await dispatcher.mutate(made.asked(made.PODS, object=pod))
    await dispatcher.validate(made.asked(made.PODS, object=labelled))

    assert labelled is not None
    assert labelled['metadata']['labels'] == {keys.JOBSET_NAME: 'train', keys.PRIORITY: '7'}
    assert await dispatcher.mutate(made.asked(made.PODS, object=other)) is other
