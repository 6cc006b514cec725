"""The stories of :mod:`tests.scenarios.stories` on a real cluster."""

from collections.abc import Callable

import pytest

from tests.scenarios import stories
from tests.scenarios.space import Space


@pytest.mark.parametrize('story', stories.ALL, ids=lambda story: story.__name__)
def test_story(story: Callable[[Space], None], here: Space) -> None:
    story(here)
