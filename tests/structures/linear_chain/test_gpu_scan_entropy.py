"""Entropies of long chains on GPUs, here also of short ones, in blocks of sqrt(n) positions."""

import pytest
import torch
from tests.kernels.engine.gpu.device import DEVICE, ON_GPU, SLOW, by_kernels, needed
from tests.structures.linear_chain.gpu_answers import chain

from strukt import LinearChain

pytestmark = [needed, pytest.mark.usefixtures("every_length")]


def entropies(unary, transition, other_unary, other_transition, lengths):
    """Entropies, cross-entropies to another chain, and the gradients of both."""
    scores = [score.detach().requires_grad_() for score in (unary, transition)]
    here, other = LinearChain(*scores, lengths), LinearChain(other_unary, other_transition, lengths)
    results = []
    for entropy in (here.entropy(), here.cross_entropy(other)):
        factors = torch.linspace(-1.0, 2.0, len(unary), dtype=unary.dtype, device=unary.device)
        results += [entropy, *torch.autograd.grad(entropy, scores, factors)]
    return [each.detach().cpu() for each in results]


def agree(unary, transition, lengths, relative=1e-11):
    """Compare with the CPU, in float64; nobody may read the padding."""
    other = chain(*unary.shape, (), seed=1)[:2]
    right = entropies(*(score.double() for score in (unary, transition, *other)), lengths)
    outside = (torch.arange(unary.shape[1]) >= lengths[:, None])[..., None]
    padded = [score.to(unary.dtype).masked_fill(outside, torch.nan) for score in (unary, other[0])]
    if transition.dim() == 4:
        transition = transition.masked_fill(outside[:, 1:, :, None], torch.nan)
    given = padded[0], transition, padded[1], other[1].to(unary.dtype), lengths
    found = by_kernels(entropies, *(each.to(DEVICE) for each in given))
    for mine, exact in zip(found, right, strict=True):
        assert torch.allclose(mine.double(), exact, 0.0, relative * max([1.0, *exact.abs().flatten().tolist()]))
    return found, right


@pytest.mark.parametrize(
    ("lengths", "n", "c", "kind"),
    [
        ([4, 0], 4, 2, "of items"),  # blocks of 2
        pytest.param([5, 4, 1, 0], 5, 3, "of items", marks=SLOW),
        *(
            pytest.param(lengths, n, c, kind, marks=SLOW)
            for lengths, n in [([1], 1), ([2, 1], 2), ([3, 0], 3), ([16, 3], 16), ([17, 15, 5], 17)]
            for c in (1, 9)
            for kind in ("shared", "of items", "of steps")
        ),
    ],
)
def test_equal_those_of_the_cpu(lengths, n, c, kind):
    batch = len(lengths)
    transitions = {"shared": (), "of items": (batch,), "of steps": (batch, n - 1)}[kind]
    forbidden = 0.1 if kind == "of items" and c > 1 else 0.0
    unary, transition, _ = chain(batch, n, c, transitions, 1.0, torch.float64, forbidden)
    agree(unary, transition, torch.tensor(lengths))


@pytest.mark.parametrize("scale", [pytest.param(scale, marks=SLOW) for scale in (8.0, 300.0)])
def test_small_entropies_are_exact(scale):
    """In float32, where the difference of a log-partition and an expected score would keep no digit."""
    unary, transition, _ = chain(2, 9, 3, (), scale, torch.float32)
    transition -= 2 * scale * (1.0 - torch.eye(3))
    found, right = agree(unary, transition, torch.tensor([9, 5]), 1e-5)
    assert float(right[0].min()) < 1e-3
    assert torch.allclose(found[0], right[0].to(found[0].dtype), 1e-5, 0.0)


@SLOW
def test_a_chain_without_a_sequence_and_one_that_forbids_more():
    """As on the CPU: the former has no entropy, and the cross-entropy to the latter is infinite and constant."""
    unary, transition = torch.zeros(3, 4, 2, dtype=torch.float64), torch.zeros(2, 2, dtype=torch.float64)
    unary[0, 2] = -torch.inf
    unary[2] = torch.randn(4, 2, dtype=torch.float64)
    other = torch.zeros_like(unary)
    other[1, 2, 0] = -torch.inf
    lengths = torch.tensor([4, 4, 4])

    def values(unary, transition, other, lengths):
        scores = [score.detach().requires_grad_() for score in (unary, transition, other)]
        here, there = (LinearChain(main, scores[1], lengths) for main in (scores[0], scores[2]))
        entropy, cross_entropy = here.entropy(), here.cross_entropy(there)
        grads = torch.autograd.grad(cross_entropy.sum(), scores)
        return [each.detach().cpu() for each in (entropy, cross_entropy, *grads)]

    right = values(unary, transition, other, lengths)
    found = by_kernels(values, *(each.to(DEVICE) for each in (unary, transition, other, lengths)))
    assert right[1][1] == torch.inf
    assert all(grad.isfinite().all() for grad in right[2:])
    assert (right[2][:2] == 0).all()
    assert (right[2][2] != 0).any()
    for mine, exact in zip(found, right, strict=True):
        assert torch.allclose(mine, exact, 0.0, 1e-11, equal_nan=True)


@pytest.mark.skipif(not ON_GPU, reason="the interpreter takes minutes")
@pytest.mark.parametrize(("dtype", "relative"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
@pytest.mark.parametrize(("batch", "n", "c"), [(1, 100_000, 5), (8, 10_000, 8), (32, 1025, 16)])
def test_long_chains(batch, n, c, dtype, relative):
    unary, transition, _ = chain(batch, n, c, (), 5.0, dtype)
    agree(unary, transition, torch.tensor([n - item % 4 * (n // 4) for item in range(batch)]), relative)
