"""The samples as a table for people and as JSON for machines."""

import dataclasses
import os
import platform
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from benchmarks.controller import cases, samples

_HEADER: Final = ('case', 'raw s', 'ours s', 'ratio', 'goal', 'verdict', 'CPU s', 'peak RSS MiB')


@dataclasses.dataclass(frozen=True, kw_only=True)
class Result:
    """The pairs of one case."""

    name: str
    goal: cases.Goal
    pairs: Sequence[samples.Pair]

    def median(self, field: str) -> float:
        """The median over the pairs. That of the ratios is not the ratio of the medians: a pair belongs together."""
        return float(statistics.median(getattr(pair, field) for pair in self.pairs))

    @property
    def missed(self) -> list[str]:
        """The goals that the medians do not reach."""
        reached = {
            'ratio': (self.median('ratio'), self.goal.ratio),
            'CPU': (self.median('cpu_seconds'), self.goal.cpu_seconds),
            'RSS': (self.median('peak_rss_mib'), self.goal.rss_mib),
        }
        return [what for what, (is_, most) in reached.items() if most is not None and is_ > most]


def table(results: Iterable[Result]) -> str:
    """Medians, in Markdown."""
    rows = [_HEADER, tuple('-' * len(title) for title in _HEADER), *(_row(result) for result in results)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADER))]
    return '\n'.join(
        '| ' + ' | '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + ' |' for row in rows
    )


def document(results: Iterable[Result], *, kubernetes: str) -> dict[str, Any]:
    """Everything that was measured, with the machine but without its name."""
    return {
        'machine': {
            'cores': os.cpu_count(),
            'architecture': platform.machine(),
            'load_average': os.getloadavg(),
            'python': platform.python_version(),
            'kubernetes': kubernetes,
        },
        'cases': {result.name: _entry(result) for result in results},
    }


def _entry(result: Result) -> Mapping[str, Any]:
    fields = ('raw_seconds', 'ours_seconds', 'ratio', 'cpu_seconds', 'peak_rss_mib')
    return {
        'goal': dataclasses.asdict(result.goal),
        'missed': result.missed,
        'medians': {field: result.median(field) for field in fields},
        'pairs': [dataclasses.asdict(pair) | {'ratio': pair.ratio} for pair in result.pairs],
    }


def _row(result: Result) -> tuple[str, ...]:
    return (
        result.name,
        f'{result.median("raw_seconds"):.2f}',
        f'{result.median("ours_seconds"):.2f}',
        f'{result.median("ratio"):.2f}',
        _goal(result.goal),
        _verdict(result),
        f'{result.median("cpu_seconds"):.2f}',
        f'{result.median("peak_rss_mib"):.0f}',
    )


def _goal(goal: cases.Goal) -> str:
    parts = (
        goal.ratio and f'{goal.ratio:g} x raw',
        goal.cpu_seconds and f'CPU {goal.cpu_seconds:g} s',
        goal.rss_mib and f'RSS {goal.rss_mib:g} MiB',
    )
    return ', '.join(part for part in parts if part) or '-'


def _verdict(result: Result) -> str:
    if result.goal == cases.Goal():
        return '-'
    return f'missed: {", ".join(result.missed)}' if result.missed else 'met'
