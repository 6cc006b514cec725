"""Every sample runs to the end that its header describes."""

import pytest

from tests.scenarios import endings, started
from tests.scenarios.space import SAMPLES


@pytest.mark.parametrize('file', list(endings.CHECKS))
def test_sample_ends_as_its_header_says(file: str, samples: started.Started) -> None:
    samples.result(file)


def test_every_sample_is_tested() -> None:
    assert {path.name for path in SAMPLES.glob('*.yaml')} == set(endings.CHECKS)
