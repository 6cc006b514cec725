"""Claims and volumes."""

# The loop is one in which waiting for a disk takes no time.
# ruff: noqa: ASYNC240

import tempfile
from pathlib import Path

from jobset.api import meta
from jobset.kube import requests
from jobset.local.controllers import models, shared, suite
from jobset.local.controllers.volumes import binding, folders
from jobset.local.objects import Object
from tests.local.controllers import world
from tests.local.controllers.world import World

_KEPT = tempfile.TemporaryDirectory(prefix='volumes-')
ROOT = Path(_KEPT.name, 'root')
WITH_FOLDERS = suite.Choices(place=folders.Folders(ROOT))


def _claim(size: str = '1Gi', **spec: object) -> models.Claim:
    return models.Claim(
        metadata=meta.Common(name='c', namespace='n', uid='u'),
        spec=models.ClaimSpec(
            access_modes=('ReadWriteOnce',),
            resources=models.Quantities(requests={'storage': size}),
            **spec,  # type: ignore[arg-type]
        ),
    )


def _volume(name: str, size: str = '1Gi', labels: dict[str, str] | None = None, **spec: object) -> models.Volume:
    given: dict[str, object] = {'access_modes': ('ReadWriteOnce', 'ReadWriteMany')} | spec
    return models.Volume(
        metadata=meta.Common(name=name, labels=labels or {}),
        spec=models.VolumeSpec(capacity={'storage': size}, **given),  # type: ignore[arg-type]
    )


KEPT = models.ObjectReference(namespace='n', name='c')
TAKEN = models.ObjectReference(namespace='n', name='c', uid='other')
SELECTED = {'matchLabels': {'fast': 'yes'}}
VOLUMES = [
    _volume('large', '10Gi'),
    _volume('small', '500Mi'),
    _volume('right', '1.5Gi'),
    _volume('right-too', '1536Mi'),
    _volume('classy', '1Gi', storage_class_name='gold'),
    _volume('block', '1Gi', volume_mode='Block'),
    _volume('read-only', '1Gi', access_modes=('ReadOnlyMany',)),
    _volume('taken', '1Gi', claim_ref=TAKEN),
    _volume('fast', '20Gi', {'fast': 'yes'}),
]


def test_choosing() -> None:
    def chosen(claim: models.Claim, volumes: list[models.Volume] = VOLUMES) -> str:
        volume = binding.choose(claim, volumes)
        return volume.metadata.name if volume is not None else ''

    assert chosen(_claim()) == 'right'
    assert chosen(_claim('2Gi')) == 'large'
    assert chosen(_claim('100Mi')) == 'small'
    assert chosen(_claim('30Gi')) == ''
    assert chosen(_claim(storage_class_name='gold')) == 'classy'
    assert chosen(_claim(storage_class_name='')) == 'right'
    assert chosen(_claim(storage_class_name='lead')) == ''
    assert chosen(_claim(volume_mode='Block')) == 'block'
    assert chosen(_claim(selector=SELECTED)) == 'fast'
    assert chosen(_claim(volume_name='large')) == 'large'
    assert chosen(_claim(volume_name='small')) == ''
    assert chosen(_claim(volume_name='taken')) == ''
    assert chosen(_claim('30Gi'), [*VOLUMES, _volume('kept', claim_ref=KEPT)]) == 'kept'


async def _make_claim(w: World, name: str, **spec: object) -> Object:
    given = {'accessModes': ['ReadWriteOnce'], 'resources': {'requests': {'storage': '1Gi'}}, **spec}
    return await w.create(requests.CLAIMS, name, spec=given)


async def _phase(w: World, resource: requests.Resource, name: str, phase: str) -> Object:
    async def look() -> Object | None:
        found = await w.get(resource, name)
        return found if found is not None and found['status'].get('phase') == phase else None

    found: Object = await w.until(look)
    return found


@world.story(choices=WITH_FOLDERS, is_ours=True)
async def test_a_claim_is_given_a_folder_and_the_folder_goes_with_it(w: World) -> None:
    claim = await _make_claim(w, 'data')
    claim = await _phase(w, requests.CLAIMS, 'data', 'Bound')

    name = f'pvc-{claim["metadata"]["uid"]}'
    assert claim['spec']['volumeName'] == name
    assert claim['spec']['storageClassName'] == 'local'
    assert (claim['status']['accessModes'], claim['status']['capacity']) == (['ReadWriteOnce'], {'storage': '1Gi'})
    volume = await _phase(w, shared.VOLUMES, name, 'Bound')
    path = Path(volume['spec']['hostPath']['path'])
    assert path == ROOT / f'{w.namespace}_data_{name}'
    assert path.is_dir()
    path.joinpath('result').write_text('42')

    await w.delete(requests.CLAIMS, 'data')

    await w.gone(requests.CLAIMS, 'data')
    await w.gone(shared.VOLUMES, name)
    assert not path.exists()


@world.story(choices=WITH_FOLDERS, is_ours=True)
async def test_folders_of_others_are_left_alone(w: World) -> None:
    await _make_claim(w, 'data')
    claim = await _phase(w, requests.CLAIMS, 'data', 'Bound')
    name = claim['spec']['volumeName']
    volume = await w.get(shared.VOLUMES, name)
    assert volume is not None
    elsewhere = Path(tempfile.mkdtemp(dir=_KEPT.name))
    await w.delete(shared.VOLUMES, name)
    forged = {'metadata': {'annotations': {binding.PROVISIONED_BY: binding.PROVISIONER}}} | {
        'spec': volume['spec'] | {'hostPath': {'path': str(elsewhere)}, 'claimRef': None}
    }
    await w.create(shared.VOLUMES, 'forged', **forged)
    reference = {'namespace': w.namespace, 'name': 'gone', 'uid': 'gone', 'kind': 'PersistentVolumeClaim'}
    await w.patch(shared.VOLUMES, 'forged', {'spec': {'claimRef': reference}})

    await _phase(w, shared.VOLUMES, 'forged', 'Failed')
    assert elsewhere.is_dir()


@world.story
async def test_a_claim_takes_a_volume_that_is_there_and_gives_it_back(w: World) -> None:
    name = f'{w.namespace}-pv'
    await w.create(
        shared.VOLUMES,
        name,
        spec={
            'accessModes': ['ReadWriteOnce'],
            'capacity': {'storage': '2Gi'},
            'hostPath': {'path': '/somewhere'},
            'persistentVolumeReclaimPolicy': 'Retain',
            'storageClassName': w.namespace,
        },
    )
    await _phase(w, shared.VOLUMES, name, 'Available')
    await _make_claim(w, 'data', storageClassName=w.namespace)

    claim = await _phase(w, requests.CLAIMS, 'data', 'Bound')
    assert claim['spec']['volumeName'] == name
    assert claim['status']['capacity'] == {'storage': '2Gi'}
    assert claim['metadata']['finalizers'] == ['kubernetes.io/pvc-protection']
    assert claim['metadata']['annotations'] == {
        'pv.kubernetes.io/bind-completed': 'yes',
        'pv.kubernetes.io/bound-by-controller': 'yes',
    }
    volume = await _phase(w, shared.VOLUMES, name, 'Bound')
    assert volume['metadata']['finalizers'] == ['kubernetes.io/pv-protection']
    reference = volume['spec']['claimRef']
    assert (reference['name'], reference['uid']) == ('data', claim['metadata']['uid'])

    await w.delete(shared.VOLUMES, name)
    await w.settle()
    assert await w.get(shared.VOLUMES, name) is not None
    await w.delete(requests.CLAIMS, 'data')
    await w.gone(requests.CLAIMS, 'data')
    await w.gone(shared.VOLUMES, name)


@world.story
async def test_a_volume_that_is_kept_stays_released(w: World) -> None:
    name = f'{w.namespace}-pv'
    spec = {'accessModes': ['ReadWriteOnce'], 'capacity': {'storage': '2Gi'}, 'hostPath': {'path': '/somewhere'}}
    await w.create(shared.VOLUMES, name, spec=spec | {'storageClassName': w.namespace})
    await _make_claim(w, 'data', storageClassName=w.namespace)
    await _phase(w, requests.CLAIMS, 'data', 'Bound')

    await w.delete(requests.CLAIMS, 'data')

    await _phase(w, shared.VOLUMES, name, 'Released')
    await _make_claim(w, 'data', storageClassName=w.namespace)
    await w.settle()
    again = await w.get(requests.CLAIMS, 'data')
    assert again is not None
    assert again['status']['phase'] == 'Pending'
    await w.delete(shared.VOLUMES, name)
    await w.gone(shared.VOLUMES, name)


@world.story
async def test_a_claim_stays_while_a_placed_pod_names_it(w: World) -> None:
    await _make_claim(w, 'data', storageClassName=w.namespace)
    volumes = [{'name': 'v', 'persistentVolumeClaim': {'claimName': 'data'}}]
    spec = {'containers': [world.CONTAINER], 'volumes': volumes}
    await w.create(requests.PODS, 'unplaced', spec=spec)
    await w.create(requests.PODS, 'placed', spec=spec | {'nodeName': 'n1'})
    await w.settle()

    await w.delete(requests.CLAIMS, 'data')

    await w.settle()
    await w.patch(requests.PODS, 'placed', {'status': {'phase': 'Succeeded'}}, 'status')
    await w.settle()
    assert await w.get(requests.CLAIMS, 'data') is not None
    await w.delete(requests.PODS, 'placed', grace_seconds=0)
    await w.gone(requests.CLAIMS, 'data')
