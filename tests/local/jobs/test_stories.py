"""The recorded stories, with our plans carried out on a stage without a server."""

import pytest

from tests.local.jobs import fake, record, stage, stories

RECORDED = record.recorded()


@pytest.mark.parametrize('story', [pytest.param(story, id=story.name) for story in stories.STORIES])
async def test_story_goes_as_recorded(story: stories.Story) -> None:
    recorded = RECORDED[story.name]

    told = await fake.Fake(story, recorded['job']).play()

    assert stage.differences(recorded, told) == []


def test_every_story_is_recorded() -> None:
    assert list(RECORDED) == [story.name for story in stories.STORIES]
