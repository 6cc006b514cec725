"""Answers whether failure messages match patterns: off the event loop, with a bound, and each only once.

A pattern that a hostile user wrote may take as long as it likes; it runs in a thread that gives up after its time, and
what has no answer counts as no match.
"""

import asyncio
import collections
import logging
from collections.abc import Callable, Iterable
from typing import Final

from jobset import re2
from jobset.core import failure

logger = logging.getLogger(__name__)

_REMEMBERED: Final = 10_000
"""Answers kept, the most recently used ones. One takes about 200 bytes beside its message."""


class Matcher:
    """Remembers answers; ``run`` is how a blocking call leaves the event loop."""

    def __init__(self) -> None:
        self._answers: collections.OrderedDict[failure.Question, bool] = collections.OrderedDict()

    async def answer(
        self,
        questions: Iterable[failure.Question],
        *,
        tell: Callable[[str, str], None],
    ) -> dict[failure.Question, bool]:
        """The answers to all questions. Other things happen meanwhile only where one is not known yet.

        ``tell`` is called with reason and note for each pattern that is no use.
        """
        found: dict[failure.Question, bool] = {}
        for question in sorted(questions):
            if question not in self._answers:
                answer, trouble = await asyncio.to_thread(_matches, question)
                self._answers[question] = answer
                if trouble is not None:
                    tell(*trouble)
            self._answers.move_to_end(question)
            found[question] = self._answers[question]
            while len(self._answers) > _REMEMBERED:
                self._answers.popitem(last=False)
        return found


def _matches(question: failure.Question) -> tuple[bool, tuple[str, str] | None]:
    """The answer, and reason and note of an event where the pattern is no use. Runs in a thread."""
    pattern = question.pattern
    try:
        return re2.compile(pattern).search(question.message), None
    except (re2.PatternError, re2.PatternTooComplexError) as error:
        return False, ('FailurePolicyPatternInvalid', f'failure policy pattern {pattern!r} is skipped: {error}')
    except re2.MatchTimeout:
        return False, (
            'FailurePolicyPatternTimeout',
            f'failure policy pattern {pattern!r} took too long, it is skipped',
        )
