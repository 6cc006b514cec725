"""The samples and stories on the embedded control plane; :mod:`e2e.tests` runs the very same on a real cluster."""

import re
import secrets
from collections.abc import Callable, Iterator

import pytest

from tests.scenarios import endings, plane, started, stories
from tests.scenarios.space import SAMPLES, Space


@pytest.fixture(scope='module')
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[plane.Plane]:
    with plane.started(tmp_path_factory.mktemp('plane')) as running:
        yield running


@pytest.fixture(scope='module', autouse=True)
def samples(request: pytest.FixtureRequest, place: plane.Plane) -> Iterator[started.Started]:
    functions = [item for item in request.session.items if isinstance(item, pytest.Function)]
    files = [str(item.callspec.params['file']) for item in functions if item.originalname == started.TEST]
    with started.begun(files, lambda name: Space(place, _unique(name))) as running:
        yield running


@pytest.mark.parametrize('story', stories.ALL, ids=lambda story: story.__name__)
def test_story(story: Callable[[Space], None], place: plane.Plane) -> None:
    story(Space(place, _unique(story.__name__)))


@pytest.mark.parametrize('file', list(endings.CHECKS))
def test_sample_ends_as_its_header_says(file: str, samples: started.Started) -> None:
    samples.result(file)


def test_every_sample_is_tested() -> None:
    assert {path.name for path in SAMPLES.glob('*.yaml')} == set(endings.CHECKS)


def _unique(text: str) -> str:
    words = re.sub(r'[^a-z0-9]+', '-', text.lower()).strip('-')
    return f'{words[:40].strip("-")}-{secrets.token_hex(2)}'
