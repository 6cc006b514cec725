"""How a simulated pod fares: what its annotations say, or rules in Python.

| annotation (``simulation.jobset.x-k8s.io/…``) | meaning |
|---|---|
| ``start-delay`` | until the containers run, as ``2s`` |
| ``ready-after`` | from then until the pod is ready |
| ``duration`` | how long they run; ``forever`` |
| ``jitter`` | by which part of itself the duration differs at random, as ``0.1`` |
| ``exit-code`` | how they end |
| ``fail-at`` | after so long they end with the exit code, or 1 |
| ``fail-probability`` | with this probability that happens, at some moment of the duration |
| ``fail-attempts`` | only in so many first attempts of the JobSet; later ones succeed |
| ``reason``, ``message`` | of the end |
| ``stop-after`` | how long they go on when asked to end; never longer than the grace period |
"""

import dataclasses
import functools
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from jobset.api import durations, keys

PREFIX: Final = 'simulation.jobset.x-k8s.io/'

_INDEX: Final = 'batch.kubernetes.io/job-completion-index'
_JOB: Final = 'batch.kubernetes.io/job-name'


class ScriptError(ValueError):
    """An annotation says nothing that could be done."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How it goes for a pod; all times in seconds."""

    duration: float | None = None
    """From the start of the containers to their end; None: they run until they are stopped."""

    exit_code: int = 0
    reason: str = ''
    """``Completed`` or ``Error``, when empty."""

    message: str = ''
    start_delay: float = 0
    """From the binding to the start of the containers."""

    ready_after: float = 0
    """From the start to readiness. When it is not 0, that is one write more."""

    stop_after: float = 0
    """From a request to stop to the end."""

    stop_code: int = 143
    """How they end when they are stopped."""


@dataclass(frozen=True)
class Facts:
    """What rules may look at."""

    namespace: str
    name: str
    node: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    restarts: int
    """How often its containers have been restarted."""

    seed: object

    @property
    def attempt(self) -> int:
        """The attempt of its JobSet, from 0 on."""
        text = self.labels.get(keys.RESTART_ATTEMPT, '0')
        return int(text) if text.isdecimal() else 0

    @functools.cached_property
    def chance(self) -> random.Random:
        """Randomness that is the same each time for this pod: the order in which pods are asked does not matter.

        The name of a pod of a Job ends at random; its Job and its index do not.
        """
        who = (self.labels[_JOB], self.labels.get(_INDEX, '')) if _JOB in self.labels else (self.name, '')
        return random.Random(f'{self.seed}/{self.namespace}/{who}/{self.attempt}/{self.restarts}')  # noqa: S311


Rule = Callable[[Facts], Outcome | None]
"""How it goes for a pod; None: the next rule may say."""


def decide(facts: Facts, rules: tuple[Rule, ...], default: Outcome) -> Outcome:
    """What the first rule says that says anything; else what the annotations say. Raises :class:`ScriptError`."""
    for rule in rules:
        outcome = rule(facts)
        if outcome is not None:
            return outcome
    return annotated(facts, default)


def annotated(facts: Facts, default: Outcome) -> Outcome:
    """What the annotations say, on top of what goes without saying."""
    said = {key[len(PREFIX) :]: value for key, value in facts.annotations.items() if key.startswith(PREFIX)}
    if not said:
        return default
    outcome = dataclasses.replace(default, **_plain(said))
    if 'jitter' in said and outcome.duration is not None:
        part = _number('jitter', said['jitter'])
        outcome = dataclasses.replace(outcome, duration=outcome.duration * facts.chance.uniform(1 - part, 1 + part))
    ends = _failure(facts, said, outcome)
    if ends is None:
        return outcome
    code = int(_number('exit-code', said['exit-code'])) if 'exit-code' in said else 1
    return dataclasses.replace(outcome, duration=ends, exit_code=code)


_CHANCES: Final = frozenset({'fail-at', 'fail-probability', 'fail-attempts'})
"""With one of these, the exit code is that of the failure."""


def _plain(said: Mapping[str, str]) -> dict[str, Any]:
    """The annotations that stand for a field each."""
    found: dict[str, Any] = {}
    for key, value in said.items():
        match key:
            case 'start-delay' | 'ready-after' | 'stop-after':
                found[key.replace('-', '_')] = _seconds(key, value)
            case 'duration':
                found['duration'] = None if value == 'forever' else _seconds(key, value)
            case 'exit-code' if _CHANCES.isdisjoint(said):
                found['exit_code'] = int(_number(key, value))
            case 'reason' | 'message':
                found[key] = value
    return found


def _failure(facts: Facts, said: Mapping[str, str], outcome: Outcome) -> float | None:
    """After how many seconds it fails, if it does so by chance or by the clock."""
    if 'fail-attempts' in said and facts.attempt >= _number('fail-attempts', said['fail-attempts']):
        return None
    if 'fail-probability' in said and facts.chance.random() >= _number('fail-probability', said['fail-probability']):
        return None
    if 'fail-at' in said:
        return _seconds('fail-at', said['fail-at'])
    if 'fail-probability' in said:
        return (outcome.duration if outcome.duration is not None else 3600.0) * facts.chance.random()
    return outcome.duration or 0.0 if 'fail-attempts' in said else None


@functools.lru_cache(maxsize=4096)
def _seconds(key: str, text: str) -> float:
    try:
        return durations.parse(text).total_seconds()
    except ValueError as error:
        raise ScriptError(f'{PREFIX}{key}: {error}') from None


def _number(key: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ScriptError(f'{PREFIX}{key}: {text!r} is no number') from None
