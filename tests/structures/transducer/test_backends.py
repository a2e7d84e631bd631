"""The kernels of transducers say what the reference says, for lattices of any shape and scores of any size."""

from collections.abc import Callable

import pytest
import torch
from tests.backends import assert_kernels_answer_as_the_reference, log_partition_and_gradient
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
    assert_kernels_answer_as_the_reference(on, lambda: log_partition_and_gradient(Transducer, moves), 1e-9)
