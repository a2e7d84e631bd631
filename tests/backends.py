"""Switching backends, threads and what uninitialised memory holds."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pytest
import torch
from torch.distributions import Distribution

from strukt.kernels import memory


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Switch the backend."""
    return lambda name: monkeypatch.setenv("STRUKT_BACKEND", name)


def assert_kernels_answer_as_the_reference(
    on: Callable[[str], None],
    answers: Callable[[], Iterable[torch.Tensor]],
    rtol: float,
    atol: float | None = None,
) -> None:
    """Ask the reference and then the kernels; the absolute tolerance is the relative one if it is not given."""
    on("reference")
    expected = list(answers())
    on("cpu")
    for found, right in zip(answers(), expected, strict=True):
        assert torch.allclose(found, right, rtol=rtol, atol=rtol if atol is None else atol)


def log_partition_and_gradient(
    make: Callable[..., Distribution], *scores: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    """Log-partitions of a distribution, and the gradient of their sum in all scores."""
    leaves = [score.detach().clone().requires_grad_() for score in scores]
    value = make(*leaves).log_partition
    return value.detach(), *torch.autograd.grad(value.sum(), leaves)


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
