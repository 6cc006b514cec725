"""Building: what the cache is keyed by, which Go is taken, and that a build happens once."""

import dataclasses
import shutil
import subprocess
from pathlib import Path

import pytest

from e2e.cluster import binaries, golang

PROGRAM = 'package main\n\nvar Greeting = "unset"\n\nfunc main() { println(Greeting) }\n'


@pytest.fixture
def component(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> binaries.Component:
    """A small module of the same make as the real ones."""
    monkeypatch.setattr(binaries, 'MODULES', tmp_path / 'modules')
    module = tmp_path / 'modules' / 'greeter'
    module.mkdir(parents=True)
    (module / 'go.mod').write_text('module test/greeter\n\ngo 1.26.0\n')
    (module / 'main.go').write_text(PROGRAM)
    return binaries.Component(
        name='greeter', version='v1.2.3', packages={'greeter': '.'}, variables={'main.Greeting': 'hello'}
    )


def test_key_names_component_and_version(component: binaries.Component) -> None:
    assert binaries.key(component).startswith('greeter-v1.2.3-')


@pytest.mark.parametrize(
    'change',
    [
        pytest.param({'version': 'v1.2.4'}, id='another version'),
        pytest.param({'variables': {'main.Greeting': 'bye'}}, id='another linker flag'),
        pytest.param({'packages': {'greeter': '.', 'other': './other'}}, id='another program'),
    ],
)
def test_key_changes_with_what_decides_the_result(component: binaries.Component, change: dict[str, object]) -> None:
    assert binaries.key(dataclasses.replace(component, **change)) != binaries.key(component)  # type: ignore[arg-type]


def test_key_changes_with_a_pinned_dependency_and_not_with_the_checkout(
    component: binaries.Component, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = binaries.key(component)
    shutil.copytree(tmp_path / 'modules', tmp_path / 'elsewhere')
    monkeypatch.setattr(binaries, 'MODULES', tmp_path / 'elsewhere')
    elsewhere = binaries.key(component)
    (component.module / 'go.sum').write_text('example.test/a v1.0.0 h1:x\n')

    assert elsewhere == before
    assert binaries.key(component) != before


def test_every_component_has_its_pins_and_a_folder_of_its_own(tmp_path: Path) -> None:
    folders = [binaries.folder(component, cache=tmp_path) for component in binaries.ALL]

    assert all((component.module / 'go.mod').is_file() for component in binaries.ALL)
    assert len(set(folders)) == len(binaries.ALL)


@pytest.mark.parametrize('component', [binaries.KUBERNETES, binaries.CONTAINERD, binaries.ETCD, binaries.COREDNS])
def test_pinned_module_is_of_the_version_that_the_component_claims(component: binaries.Component) -> None:
    package = next(iter(component.packages.values()))
    required = [line.split() for line in (component.module / 'go.mod').read_text().splitlines() if ' v' in line]
    modules = {words[0]: words[1] for words in required if words[0] and package.startswith(words[0])}

    assert set(modules.values()) == {component.version}


def test_kubernetes_knows_its_version() -> None:
    sets = binaries.KUBERNETES.flags[-1]

    assert '-X k8s.io/component-base/version.gitVersion=v1.37.2' in sets
    assert '-X k8s.io/component-base/version.gitMinor=37' in sets
    assert '-X k8s.io/client-go/pkg/version.gitVersion=v1.37.2' in sets


def test_without_go_on_the_path_the_wheel_builds(
    component: binaries.Component, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path / 'empty'
    empty.mkdir()
    monkeypatch.setenv('PATH', str(empty))

    built = binaries.present((component,), cache=tmp_path / 'cache')

    assert golang.find() == golang.from_wheel()
    said = subprocess.run([built['greeter']], capture_output=True, text=True, check=True, timeout=60)
    assert said.stderr == 'hello\n'


def test_second_build_is_none(component: binaries.Component, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = binaries.folder(component, cache=tmp_path)
    home.mkdir(parents=True)
    monkeypatch.setenv('PATH', '')
    monkeypatch.setattr(golang, 'from_wheel', lambda: pytest.fail('a compiler was looked for'))

    assert binaries.present((component,), cache=tmp_path)['greeter'] == home / 'greeter'


def test_failed_build_says_why_and_leaves_nothing(component: binaries.Component, tmp_path: Path) -> None:
    (component.module / 'main.go').write_text('package main\n\nfunc main() { undefinedThing() }\n')

    with pytest.raises(binaries.BuildError, match='undefined: undefinedThing'):
        binaries.present((component,), cache=tmp_path / 'cache')

    assert [path.suffix for path in (tmp_path / 'cache' / 'bin').iterdir()] == ['.lock']


def stand_in(folder: Path, version: str) -> Path:
    """A program "go" that claims to be of ``version``."""
    folder.mkdir()
    program = folder / 'go'
    program.write_text(f'#!/bin/sh\necho go{version}\n')
    program.chmod(0o755)
    return program


@pytest.mark.parametrize(
    ('version', 'taken'),
    [
        pytest.param('1.26', True, id='the oldest that will do'),
        pytest.param('1.26.8', True, id='a patch release'),
        pytest.param('1.30.0', True, id='a later one'),
        pytest.param('1.25.9', False, id='one too old'),
        pytest.param('1.9', False, id='one that only sorts later as text'),
    ],
)
def test_go_of_the_path_is_taken_when_new_enough(version: str, taken: bool, tmp_path: Path) -> None:
    program = stand_in(tmp_path / 'bin', version)

    assert (golang.find(search=str(program.parent)) == program) is taken


def test_without_any_go_the_error_says_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = stand_in(tmp_path / 'bin', '1.20.1')
    monkeypatch.setattr(golang, 'from_wheel', lambda: None)

    with pytest.raises(golang.CompilerError, match=r'Go 1\.26 or later.*requirements/dev\.txt'):
        golang.find(search=str(old.parent))


@pytest.mark.parametrize(
    ('go_mod', 'version'),
    [
        pytest.param('module a\n\ngo 1.26.6\n', (1, 26, 6), id='a patch release'),
        pytest.param('module a\n\ngo 1.21\n', (1, 26), id='never below what Kubernetes needs'),
        pytest.param('module a\n', (1, 26), id='no word of it'),
    ],
)
def test_module_says_which_go_it_wants(go_mod: str, version: golang.Version) -> None:
    assert golang.wanted_by(go_mod) == version
