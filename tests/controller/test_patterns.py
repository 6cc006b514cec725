"""Answers about failure messages: each found once, remembered, and never without a bound."""

import pytest

from jobset import re2
from jobset.controller import patterns
from jobset.core.failure import Question

YES, NO = Question('^out of', 'out of memory'), Question('^out of', 'ran out of memory')


async def answers(matcher: patterns.Matcher, *questions: Question) -> list[tuple[str, str]]:
    told: list[tuple[str, str]] = []
    await matcher.answer(questions, tell=lambda reason, note: told.append((reason, note)))
    return told


async def test_open_question_is_answered_and_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    matcher = patterns.Matcher()

    before = matcher.known([YES, NO])
    told = await answers(matcher, YES, NO)
    monkeypatch.setattr(re2, 'compile', None)
    await answers(matcher, YES, NO)

    assert before is None
    assert told == []
    assert matcher.known([YES, NO]) == {YES: True, NO: False}


async def test_no_questions_need_no_answers() -> None:
    assert patterns.Matcher().known([]) == {}


async def test_bad_pattern_matches_nothing_and_is_told() -> None:
    matcher, bad = patterns.Matcher(), Question('a(?!b)', 'ac')

    told = await answers(matcher, bad)

    assert matcher.known([bad]) == {bad: False}
    assert [reason for reason, _ in told] == ['FailurePolicyPatternInvalid']
    assert told[0][1].startswith("failure policy pattern 'a(?!b)' is skipped: ")


async def test_pattern_that_takes_too_long_matches_nothing_and_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless:
        def search(self, text: str) -> bool:
            raise re2.MatchTimeout(text)

    monkeypatch.setattr(re2, 'compile', lambda pattern: Endless())
    matcher = patterns.Matcher()

    told = await answers(matcher, YES)

    assert matcher.known([YES]) == {YES: False}
    assert told == [
        ('FailurePolicyPatternTimeout', "failure policy pattern '^out of' took too long, it is skipped"),
    ]


async def test_oldest_answers_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, '_REMEMBERED', 2)
    matcher = patterns.Matcher()
    third = Question('x', 'x')

    await answers(matcher, YES, NO)
    matcher.known([YES])
    await answers(matcher, third)

    assert matcher.known([NO]) is None
    assert matcher.known([YES, third]) == {YES: True, third: True}
