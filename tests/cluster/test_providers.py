"""Where a cluster comes from: what is called to make one with ``kind``, and what ``existing`` leaves alone.

There is no container engine here, so ``kind`` is a stand-in that writes down how it was called.
"""

import os
from pathlib import Path

import pytest

from e2e.cluster import providers, settings
from e2e.cluster.names import of


class StandIn:
    """A program ``kind`` that keeps a list of clusters and writes down its arguments."""

    def __init__(self, folder: Path) -> None:
        self.calls = folder / 'calls'
        self.calls.touch()
        program = folder / 'kind'
        program.write_text(
            '#!/bin/sh\n'
            f'cd {folder}\n'
            'echo "$*" >> calls\n'
            'case "$1 $2" in\n'
            '"get clusters") cat clusters 2>/dev/null || echo "No kind clusters found." >&2 ;;\n'
            '"create cluster")\n'
            '    test "$4" != refused || { echo "no docker here" >&2; exit 1; }\n'
            '    echo "$4" >> clusters ;;\n'
            '"delete cluster") rm -f clusters ;;\n'
            'esac\n'
        )
        program.chmod(0o755)
        self.surroundings = {'PATH': f'{folder}:/usr/bin:/bin', 'CLUSTER': 'kind', 'XDG_CACHE_HOME': str(folder)}

    def said(self) -> list[str]:
        return self.calls.read_text().splitlines()


@pytest.fixture
def kind(tmp_path: Path) -> StandIn:
    return StandIn(tmp_path)


def provider(kind: StandIn, name: str = 'one') -> providers.Kind:
    kubeconfig = kind.calls.parent / 'conf' / 'kubeconfig'
    return providers.Kind(name=name, kubeconfig=kubeconfig, surrounding=kind.surroundings)


def test_kind_makes_a_cluster_loads_the_image_and_deletes_it(kind: StandIn) -> None:
    one = provider(kind)

    one.up()
    one.load(Path('/images/controller.tar'))
    one.down()

    assert kind.said() == [
        'get clusters',
        f'create cluster --name one --kubeconfig {one.kubeconfig} --wait 5m',
        'load image-archive /images/controller.tar --name one',
        f'delete cluster --name one --kubeconfig {one.kubeconfig}',
    ]


def test_kind_keeps_the_cluster_that_is_there(kind: StandIn) -> None:
    one = provider(kind)
    one.up()

    one.up()

    assert kind.said()[2:] == ['get clusters', f'export kubeconfig --name one --kubeconfig {one.kubeconfig}']


def test_refusal_of_kind_is_told_in_its_own_words(kind: StandIn) -> None:
    with pytest.raises(providers.ProviderError, match=r'kind create cluster --name refused .*: no docker here'):
        provider(kind, 'refused').up()


def test_without_kind_the_error_says_what_to_do(tmp_path: Path) -> None:
    absent = providers.Kind(name='one', kubeconfig=tmp_path / 'k', surrounding={'PATH': str(tmp_path)})

    with pytest.raises(providers.ProviderError, match='install it, and Docker, or leave CLUSTER unset'):
        absent.up()


def test_existing_cluster_is_used_as_it_is(tmp_path: Path) -> None:
    kubeconfig = tmp_path / 'theirs'
    kubeconfig.write_text('{}')
    surroundings = {'CLUSTER': 'existing', 'KUBECONFIG': str(kubeconfig)}
    existing = providers.chosen(surroundings, name='one', wanted=settings.Settings())

    existing.up()
    existing.down()

    assert kubeconfig.read_text() == '{}'
    assert existing.kubeconfig == kubeconfig
    assert existing.enter(['kubectl', 'get', 'pods']) == ['kubectl', 'get', 'pods']
    assert existing.surroundings() == {**os.environ, 'KUBECONFIG': str(kubeconfig)}
    with pytest.raises(providers.ProviderError, match=r'push the images of a\.tar to a registry'):
        existing.load(Path('a.tar'))


def test_existing_cluster_without_kubeconfig_is_refused(tmp_path: Path) -> None:
    with pytest.raises(providers.ProviderError, match=f'KUBECONFIG: {tmp_path}/none is not a file'):
        providers.Existing(kubeconfig=tmp_path / 'none').up()


def test_choice_of_the_variable(kind: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))
    wanted = settings.Settings(profile=settings.Profile.CONTROL_PLANE)
    cache = tmp_path / 'jobset' / 'cluster'
    own = providers.Own(names=of('one', cache_folder=cache), settings=wanted, cache=cache)

    assert providers.chosen({}, name='one', wanted=wanted) == own
    assert providers.chosen({'CLUSTER': ''}, name='one', wanted=wanted) == own
    assert providers.chosen({'CLUSTER': 'own'}, name='one', wanted=wanted) == own
    assert providers.chosen(kind.surroundings, name='one', wanted=wanted) == providers.Kind(
        name='one', kubeconfig=cache / 'kind' / 'one.kubeconfig', surrounding=kind.surroundings
    )
    with pytest.raises(providers.ProviderError, match='"minikube" is none of own, existing, kind'):
        providers.chosen({'CLUSTER': 'minikube'}, name='one', wanted=wanted)


def test_own_cluster_that_is_not_up_says_how_to_start_it(tmp_path: Path) -> None:
    own = providers.Own(names=of('one', cache_folder=tmp_path), settings=settings.Settings(), cache=tmp_path)

    with pytest.raises(providers.ProviderError, match=r'python -m e2e\.cluster up --name one'):
        own.surroundings()
