"""End to end: our controller, deployed as users deploy it, on a real cluster with real pods."""

import pytest

# The checks of the samples are no test modules, yet their assertions shall show what was compared.
pytest.register_assert_rewrite('e2e.tests.endings')
