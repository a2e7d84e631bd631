"""Long chains of few positions."""

import pytest

from strukt.structures.linear_chain import gpu_launch_scan


@pytest.fixture
def every_length(monkeypatch):
    """Chains of all lengths are long."""
    monkeypatch.setattr(gpu_launch_scan, "LONG", 1)
