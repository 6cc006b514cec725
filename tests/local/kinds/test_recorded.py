"""The rules of built-in kinds answer as a real API server did: the same codes, causes, messages and stored objects."""

import json
from typing import Any, Final

import pytest

from tests.local.kinds import answers, differences, inputs, record

RECORDED: Final[dict[str, Any]] = json.loads(record.FILE.read_text())
WRITTEN: Final = inputs.written()


@pytest.mark.parametrize('given', [pytest.param(given, id=given.name) for given in WRITTEN])
def test_answer(given: inputs.Input) -> None:
    expected = RECORDED[given.name]
    if given.name in differences.DIFFERENCES:
        expected = differences.DIFFERENCES[given.name].expected(expected)

    assert answers.judge(given) == expected


def test_every_input_is_recorded() -> None:
    assert RECORDED.keys() == {given.name for given in WRITTEN}
    assert differences.DIFFERENCES.keys() <= RECORDED.keys()


def test_every_difference_is_one() -> None:
    same = [
        name
        for name, difference in differences.DIFFERENCES.items()
        if difference.expected(RECORDED[name]) == RECORDED[name]
    ]

    assert same == []


def test_generated_inputs_are_the_same_for_the_same_seed() -> None:
    once, again = (list(inputs.generate(7, 300)) for _ in range(2))

    assert once == again
    assert {given.kind for given in once} == {'jobs.batch', 'pods', 'jobsets.jobset.x-k8s.io'}


def test_rules_bear_whatever_is_generated() -> None:
    """Nothing but a refusal comes of a write, however odd."""
    judged = [answers.judge(given) for given in inputs.generate(1, 2000) if given.kind in answers.KINDS]

    assert {answer['code'] for answer in judged} <= {200, 201, 400, 403, 422}
