"""Switching backends, threads and what uninitialised memory holds."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch

from strukt.kernels import memory


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Switch the backend."""
    return lambda name: monkeypatch.setenv("STRUKT_BACKEND", name)


@pytest.fixture
def poisoned_memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fill memory that PyTorch and we hand out uninitialised with NaN."""
    aligned = memory._aligned

    def poisoned(whole: np.ndarray, dtype: type, count: int) -> np.ndarray:
        np.asarray(whole)[:] = 255
        return aligned(whole, dtype, count)

    monkeypatch.setattr(memory, "_aligned", poisoned)
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = True
    yield
    torch.use_deterministic_algorithms(False)


@pytest.fixture
def four_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)
