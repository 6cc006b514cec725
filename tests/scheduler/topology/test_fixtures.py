"""All recorded placements: what the model of Kueue's placement answers, which agrees with Kueue's own cases."""

import json
import pathlib
from typing import Any

import pytest

from jobset.scheduler.topology import requests, results, tree
from tests.scheduler.topology import build

CASES = json.loads((pathlib.Path(__file__).parents[1] / 'placement-fixtures.json').read_text())


def test_the_file_is_whole() -> None:
    assert len(CASES) == 161


@pytest.mark.parametrize('case', CASES, ids=[case['id'] for case in CASES])
def test_recorded_placement(case: dict[str, Any]) -> None:
    answer = build.place(
        _tree(case),
        build.request(
            case['count'],
            case['mode'],
            case.get('level'),
            slices=case.get('slices', ()),
            leader=case.get('leaderUnits'),
        ),
        requests.Profile(case['profile']),
        parity=True,
    )

    if 'fail' in case:
        assert build.text_of(answer) == case['fail']
        return
    assert isinstance(answer, results.Assignment)
    assert answer.pods == _written(case['place'])
    assert ({answer.leader: 1} if answer.leader else {}) == _written(case.get('leaderPlace', []))


def _tree(case: dict[str, Any]) -> tree.Tree:
    hosts = [build.host(path, int(units), case['levels']) for path, units in build.leaves(case['free']).items()]
    return tree.Tree.of(hosts, case['levels'], ('u',), by_node=True)


def _written(nested: Any) -> dict[tuple[str, ...], int]:
    return {path: int(pods) for path, pods in build.leaves(nested).items() if path and int(pods)}
