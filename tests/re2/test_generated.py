"""Random patterns and texts, put to us, to Go and to google-re2.

An ordinary run takes a sample; with ``JOBSET_SOAK=1`` it is more than 100,000 pairs of a pattern and a text.
"""

import os
import random
from typing import NamedTuple

import pytest
import re2 as google_re2

from jobset.re2 import errors, matching, nodes, syntax
from tests.re2 import dumps, generating, golang

SEEDS = range(20) if os.environ.get('JOBSET_SOAK') == '1' else range(1)
PATTERNS = 1700
TEXTS = 4
MUTATED = 0.3
TIMEOUT_SECONDS = 2


class Case(NamedTuple):
    """A pattern, what we make of it, and texts for it."""

    pattern: str
    node: nodes.Node | None
    refusal: str
    texts: list[str]


def _cases(seed: int) -> list[Case]:
    rng = random.Random(seed)
    patterns = generating.Patterns(rng)
    texts = generating.Texts(rng)
    cases = []
    for _ in range(PATTERNS):
        pattern = patterns.pattern()
        if rng.random() < MUTATED:
            pattern = patterns.mutated(pattern)
        try:
            node = syntax.parse(pattern)
        except errors.PatternError as error:
            cases.append(Case(pattern, None, str(error).removesuffix(f' at position {error.position}'), []))
        else:
            cases.append(Case(pattern, node, '', [texts.text(node) for _ in range(TEXTS)]))
    return cases


@pytest.mark.parametrize('seed', SEEDS)
def test_acceptance_and_trees_are_those_of_go(go: golang.Golang, seed: int) -> None:
    cases = _cases(seed)
    # Newer editions of Unicode add to the classes, which shows in the trees; it does not in what is refused.
    compare_trees = go.tables['unicode'] == '15.0.0'

    answers = go.answers([golang.Question(case.pattern) for case in cases])

    refused = [case for case in cases if case.node is None]
    assert PATTERNS // 20 < len(refused) < PATTERNS // 2
    assert [(case.pattern, case.refusal) for case in cases] == [
        (case.pattern, answer.error) for case, answer in zip(cases, answers, strict=True)
    ]
    if compare_trees:
        assert [dumps.dump(case.node) for case in cases if case.node is not None] == [
            answer.tree for answer in answers if not answer.error
        ]


@pytest.mark.parametrize('seed', SEEDS)
def test_matches_are_those_of_google_re2_and_go(go: golang.Golang, seed: int) -> None:
    cases = [case for case in _cases(seed) if case.node is not None]
    answers = go.answers([golang.Question(case.pattern, case.texts) for case in cases])
    options = google_re2.Options()
    options.log_errors = False
    wrong: list[tuple[str, str]] = []
    found = unknown = pairs = foreign = 0
    for case, answer in zip(cases, answers, strict=True):
        matcher = matching.compile(case.pattern)
        try:
            oracle = google_re2.compile(case.pattern, options)
        except google_re2.error:
            # It does not know names like \pl, which Go takes for \pL.
            oracle = None
            foreign += 1
        for text, in_go in zip(case.texts, answer.matches, strict=True):
            pairs += 1
            try:
                ours = matcher.search(text, TIMEOUT_SECONDS)
            except errors.MatchTimeout:
                unknown += 1
                continue
            found += ours
            # It looks for \B between the bytes of a character too, Go only between characters.
            comparable = oracle is not None and (text.isascii() or r'\B' not in case.pattern)
            in_google = oracle.search(text) is not None if comparable else in_go
            if not ours == in_go == in_google:
                wrong.append((case.pattern, text))

    assert wrong == []
    assert pairs > PATTERNS * TEXTS * 0.7
    assert pairs * 0.3 < found < pairs * 0.9
    assert unknown <= pairs / 1000
    assert foreign <= len(cases) / 100
