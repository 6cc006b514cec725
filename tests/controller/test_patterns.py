"""Answers about failure messages: each found once, remembered, and never without a bound."""

import pytest

from jobset import re2
from jobset.controller import patterns
from jobset.core.failure import Question

YES, NO = Question('^out of', 'out of memory'), Question('^out of', 'ran out of memory')


Told = list[tuple[str, str]]


async def answers(matcher: patterns.Matcher, *questions: Question) -> tuple[dict[Question, bool], Told]:
    told: Told = []
    return await matcher.answer(questions, tell=lambda reason, note: told.append((reason, note))), told


async def test_open_question_is_answered_and_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    matcher = patterns.Matcher()

    first = await answers(matcher, YES, NO)
    monkeypatch.setattr(re2, 'compile', None)
    second = await answers(matcher, YES, NO)

    assert first == second == ({YES: True, NO: False}, [])


async def test_no_questions_need_no_answers() -> None:
    assert await answers(patterns.Matcher()) == ({}, [])


async def test_bad_pattern_matches_nothing_and_is_told() -> None:
    bad = Question('a(?!b)', 'ac')

    found, told = await answers(patterns.Matcher(), bad)

    assert found == {bad: False}
    assert [reason for reason, _ in told] == ['FailurePolicyPatternInvalid']
    assert told[0][1].startswith("failure policy pattern 'a(?!b)' is skipped: ")


async def test_pattern_that_is_too_large_for_us_matches_nothing_and_is_told() -> None:
    large = Question(r'\pL' * 40, 'letters')

    found, told = await answers(patterns.Matcher(), large)

    assert found == {large: False}
    assert [reason for reason, _ in told] == ['FailurePolicyPatternInvalid']


async def test_pattern_that_takes_too_long_matches_nothing_and_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless:
        def search(self, text: str) -> bool:
            raise re2.MatchTimeout(text)

    monkeypatch.setattr(re2, 'compile', lambda pattern: Endless())

    found = await answers(patterns.Matcher(), YES)

    note = "failure policy pattern '^out of' took too long, it is skipped"
    assert found == ({YES: False}, [('FailurePolicyPatternTimeout', note)])


async def test_more_questions_than_are_remembered_are_all_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, '_REMEMBERED', 2)
    matcher = patterns.Matcher()
    third = Question('x', 'x')

    found, _ = await answers(matcher, YES, NO, third)
    monkeypatch.setattr(re2, 'compile', None)
    remembered = await answers(matcher, NO, third)

    assert found == {YES: True, NO: False, third: True}
    assert remembered == ({NO: False, third: True}, [])
    with pytest.raises(TypeError):  # this one has to be found anew
        await answers(matcher, YES)
