"""Kernels of tables at the smallest sizes and at 33, more than a warp has threads: a step, and best structures."""

import pytest
import torch
from tests.kernels.engine.gpu.device import LAST, ON_GPU, by_kernels, needed, on_device

pytestmark = needed

SIZES = (1, 2, 3, 5, 33)

QUICK = {("LinearChain", 1), ("LinearChain", 2), ("SpanTree", 2)}
"""What the interpreter computes in CI."""

LONG = {"BitSpanTree", "LexicalisedTree", "MonotoneAlignment", "ProjectiveTree", "SecondOrderTree", "SemiMarkov"}
"""Structures of which 33 words take the interpreter minutes."""

LEFT_OUT = {
    ("MonotoneAlignment", 1),  # its paths need a second column
    *((name, 33) for name in LONG),
}
"""Cases that there are not, or that take minutes."""

CASES = [
    pytest.param(
        name, size, marks=() if ON_GPU or (name, size) in QUICK else pytest.mark.slow, id=f"{name}-{size}"
    )
    for name in LAST
    for size in SIZES
    if (name, size) not in LEFT_OUT
]


def step_and_best(case):
    """The log-partition, the best score, and the gradient of the former."""
    distribution = case.distribution()
    total = distribution.log_partition
    grads = torch.autograd.grad(total.sum(), case.scores, allow_unused=True, materialize_grads=True)
    with torch.no_grad():
        best = distribution.max_score
    return [total.detach(), best, *grads]


@pytest.mark.parametrize(("name", "size"), CASES)
def test_equal_those_of_the_cpu(name, size):
    case = LAST[name].case((4,), lengths=[size, size, size - 1, 0], size=size)
    generator = torch.Generator().manual_seed(size)

    def some_forbidden(score):
        return torch.where(torch.rand(score.shape, generator=generator) < 0.05, -torch.inf, score)

    case = case.map(some_forbidden)
    result = by_kernels(step_and_best, on_device(case))
    for mine, right in zip(result, step_and_best(case.leaves()), strict=True):
        torch.testing.assert_close(mine.cpu(), right, rtol=1e-10, atol=1e-10)
