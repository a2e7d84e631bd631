"""The best trees, and those with each arc, on a GPU, or else in Triton's interpreter, are those of the CPU."""

import pytest
import torch
from tests.kernels.engine.gpu.device import DEVICE, ON_GPU, SLOW, by_kernels, needed

from strukt.structures.non_projective_tree import cpu, gpu, kbest

pytestmark = needed

ROOTS = pytest.mark.parametrize(
    "single_root", [True, pytest.param(False, marks=SLOW)], ids=["single root", "any root"]
)
SIZES = [3, *(pytest.param(n, marks=SLOW) for n in (1, 2, 5, 9)), *((40, 130) if ON_GPU else ())]


def several(n):
    """Items with forbidden arcs, with cycles of words that prefer each other, with ties, and of all lengths."""
    random = torch.Generator().manual_seed(n)
    arcs = torch.randn(6, n, n + 1, generator=random, dtype=torch.float64)
    arcs[0][torch.rand(n, n + 1, generator=random) < 0.3] = -torch.inf
    arcs[1, range(n), [1 + (m ^ 1) % n for m in range(n)]] += 10.0
    arcs[2] = torch.randint(2, (n, n + 1), generator=random).double()
    arcs[3, n // 2] = -torch.inf
    lengths = torch.tensor([n, n, n, n, n - 1, 0])
    for item, length in zip(arcs, lengths, strict=True):
        item[length:] = torch.nan
        item[:, length + 1 :] = torch.nan
    return arcs, lengths


@ROOTS
@pytest.mark.parametrize("n", SIZES)
def test_equal_those_of_the_cpu(n, single_root):
    given = *several(n), single_root
    there = [each.to(DEVICE) if isinstance(each, torch.Tensor) else each for each in given]
    heads, scores = by_kernels(gpu.best, *there)
    right_heads, right = kbest.best(*given)
    assert torch.equal(heads.cpu(), right_heads)
    assert torch.allclose(scores.cpu(), right, 1e-12)
    found = by_kernels(gpu.max_marginals, *there).cpu()
    assert torch.allclose(found, cpu.max_marginals(*given), 1e-12, 1e-12)
