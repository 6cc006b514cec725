"""Annotations under our own prefix."""

from typing import Any

import pytest

from jobset.api import extras, validation
from jobset.api.extras import Extra, ExtraError
from tests.api import build
from tests.api.build import DEFAULTS, obj, replicated

KEY = f'{extras.PREFIX}count'


def number(text: str) -> object:
    if not text.isdecimal():
        raise ExtraError(f'{text!r} is no number; write it in digits')
    return int(text)


COUNT = Extra[object](key=KEY, text='Counts.', example='3', parse=number)


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, 'ON_JOBSET', (COUNT,))


def jobset(own: dict[str, str] | None = None, of_job: dict[str, str] | None = None) -> Any:
    job = replicated('workers')
    job['template'].setdefault('metadata', {})['annotations'] = of_job or {}
    made = obj([job])
    made['metadata']['annotations'] = own or {}
    return made


def created(sent: Any) -> list[tuple[str, str]]:
    found = validation.create(build.typed(sent), gates=DEFAULTS, existing_claims={})
    return [(error.path, error.detail) for error in found]


def changed(old: Any, new: Any) -> list[tuple[str, str]]:
    found = validation.update(build.typed(old), build.typed(new), gates=DEFAULTS)
    return [(error.path, error.detail) for error in found]


MISSPELT = (f'metadata.annotations[{KEY}s]', f'{KEY}s is no annotation of jobset; did you mean {KEY}?')
UNREADABLE = (f'metadata.annotations[{KEY}]', "'x' is no number; write it in digits")


def test_known_ones_and_those_of_others_are_taken() -> None:
    assert created(jobset({KEY: '3', 'example.com/x': 'y', 'jobset.sigs.k8s.io/x': 'y'})) == []


def test_an_unknown_one_is_refused_with_the_closest_name() -> None:
    assert created(jobset({f'{KEY}s': '3'})) == [MISSPELT]


def test_a_bad_value_is_refused_with_what_it_should_be() -> None:
    assert created(jobset({KEY: 'x'})) == [UNREADABLE]


def test_each_place_has_its_own() -> None:
    path = f'spec.replicatedJobs[0].template.metadata.annotations[{KEY}]'
    assert created(jobset(of_job={KEY: '3'}))[0][0] == path


def test_what_was_admitted_once_is_not_judged_again() -> None:
    old = jobset({f'{KEY}s': '3', KEY: 'x'})
    assert changed(old, old) == []
    assert changed(jobset(), old) == [
        MISSPELT,
        (f'metadata.annotations[{KEY}]', "'x' is no number; write it in digits"),
    ]


def test_what_was_admitted_though_it_is_bad_counts_as_not_asked_for() -> None:
    assert COUNT.of({KEY: 'x'}) is None
    assert COUNT.of({}) is None
    assert COUNT.of({KEY: '3'}) == 3
