"""Long checks on a real API server whose Job controller we play: kills, faults, and starts in bad surroundings."""

import pytest

# The load is no test module, yet its assertions shall show what was compared.
pytest.register_assert_rewrite('e2e.soak.load')
