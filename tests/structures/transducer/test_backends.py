"""The kernels of transducers say what the reference says, for lattices of any shape and scores of any size."""

from collections.abc import Callable

import pytest
import torch
from tests.kernels.test_backends import CHANGES, assert_backends_agree, normal
from torch import Tensor

from strukt.distributions import Transducer
from strukt.kernels import dispatch

pytestmark = pytest.mark.skipif(
    dispatch.backends()["cpu"] != "available", reason=f"no compiled kernels: {dispatch.backends()['cpu']}"
)

Built = tuple[Transducer, tuple[Tensor, ...]]


def build(n: int, m: int, change: Callable[[Tensor], Tensor]) -> Callable[[], Built]:
    """Five items: two whole, one of a single frame, one of labels without a frame, one empty."""
    frames, labels = torch.tensor([n, n - n // 3, 1, 0, 0]), torch.tensor([m, m - m // 2, m, m, 0])

    def fresh() -> Built:
        moves = change(normal(5, n, m + 1, 2)).requires_grad_()
        return Transducer(moves, frames, labels), (moves,)

    return fresh


@pytest.mark.thinned("n", "change")
@pytest.mark.parametrize(("change", "tolerance"), CHANGES)
@pytest.mark.parametrize(("n", "m"), [(1, 0), (1, 5), (5, 1), (2, 2), (9, 0), (33, 31), (9, 65)])
def test_lattices_of_any_shape(on, poisoned_memory, n, m, change, tolerance):
    assert_backends_agree(on, build(n, m, change), tolerance)


@pytest.mark.parametrize("scale", [1.0, 30.0, 1e4])
def test_long_sequences_do_not_underflow(on, scale):
    moves = scale * (normal(1, 150, 121, 2) - 3)
    found = []
    for backend in ("reference", "cpu"):
        on(backend)
        leaf = moves.clone().requires_grad_()
        value = Transducer(leaf).log_partition
        found.append((value.detach(), *torch.autograd.grad(value.sum(), leaf)))
    for reference, kernel in zip(*found, strict=True):
        assert torch.allclose(kernel, reference, rtol=1e-9, atol=1e-9)


def test_float32_scores_are_summed_in_float64(on):
    on("cpu")
    moves = normal(2, 200, 61, 2)
    exact, single = Transducer(moves), Transducer(moves.float())
    assert torch.allclose(single.log_partition.double(), exact.log_partition, rtol=1e-7)
    assert torch.allclose(single.marginals.double(), exact.marginals, atol=1e-5)


def test_fifty_repeats_on_four_threads_are_bit_equal(on, poisoned_memory, four_threads):
    on("cpu")
    distribution, scores = build(80, 40, lambda moves: moves)()

    def once() -> list[Tensor]:
        value = distribution.log_partition
        return [value, *torch.autograd.grad(value[:3].sum(), scores)]

    first = once()
    for _ in range(50):
        assert all(torch.equal(one, other) for one, other in zip(once(), first, strict=True))
