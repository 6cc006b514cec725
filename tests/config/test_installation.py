"""An embedded cluster installs the same as ``kubectl apply -k config/default``."""

from typing import Any

import pytest

from jobset.api import keys
from jobset.local import installation
from tests.config.test_kustomize import get

Object = dict[str, Any]


@pytest.mark.parametrize(
    ('ours', 'kind', 'name'),
    [
        pytest.param(
            installation.mutating(), installation.MUTATING.kind, keys.MUTATING_CONFIGURATION, id='webhooks that change'
        ),
        pytest.param(
            installation.validating(),
            installation.VALIDATING.kind,
            keys.VALIDATING_CONFIGURATION,
            id='webhooks that judge',
        ),
    ],
)
def test_the_webhooks_are_those_of_a_real_installation(ours: Object, kind: str, name: str) -> None:
    real = get('default', kind, name)

    assert ours == real | {'metadata': {'name': name}}
