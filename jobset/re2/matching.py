"""Whether a text contains a match of a pattern, in bounded time.

:meth:`Matcher.search` may take all the time it is given and holds no lock meanwhile (``regex`` releases Python's own
while it works on a string): call it in a thread, never on an event loop.
"""

import functools

import regex

from jobset.re2 import errors, syntax, translation

MAX_TEXT_LENGTH = 32 * 1024
"""Characters of a text that are looked at; the rest is as if it were not there. Kubernetes allows no longer message."""

DEFAULT_TIMEOUT_SECONDS = 0.1
"""Time of one search. An ordinary one takes microseconds; what needs more than this does so by its nature.

It is counted by the processor time of the process, all threads together: on a busy machine more may pass on the clock.
"""


class Matcher:
    """A pattern that is ready to be searched for. Made by :func:`compile`; may be used by many threads at once."""

    def __init__(self, pattern: str) -> None:
        source = translation.translate(syntax.parse(pattern))
        self.pattern = pattern
        try:
            self._compiled = regex.compile(source, translation.FLAGS, cache_pattern=False)
        except RecursionError:
            raise translation.too_deep() from None

    def search(self, text: str, timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS) -> bool:
        """Whether there is a match anywhere in the first :data:`MAX_TEXT_LENGTH` characters of ``text``.

        Raises :class:`errors.MatchTimeout` when ``timeout_seconds`` were not enough to tell.
        """
        shown = syntax.without_surrogates(text[:MAX_TEXT_LENGTH])
        try:
            return self._compiled.search(shown, timeout=timeout_seconds, concurrent=True) is not None
        except TimeoutError:
            raise errors.MatchTimeout(
                f'the pattern `{self.pattern}` took over {timeout_seconds} s on a text of {len(shown)} characters: '
                'write it with fewer repeats within repeats'
            ) from None


@functools.lru_cache(maxsize=1000)
def compile(pattern: str) -> Matcher:  # noqa: A001 - the name that every such module gives it
    """The matcher of ``pattern``, made once for each of the last 1,000 patterns.

    Raises :class:`errors.PatternError` if Go would refuse the pattern, :class:`errors.PatternTooComplexError` if only
    we must.
    """
    return Matcher(pattern)
