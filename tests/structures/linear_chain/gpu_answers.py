"""Scores of chains, and a comparison of what the kernels for GPUs and those of the CPU answer."""

import torch
from tests.kernels.engine.gpu.device import DEVICE, by_kernels

from strukt import LinearChain

EXACT = {torch.float32: (1e-6, 1e-5), torch.float64: (1e-12, 1e-12)}
"""The largest relative error of log-partitions, and the largest absolute one of probabilities."""


def chain(batch, n, c, transitions=(), scale=1.0, dtype=torch.float32, forbidden=0.0, seed=0):
    """Scores, and lengths from 0 to n in turn from the longest."""
    generator = torch.Generator().manual_seed(seed)

    def scores(*shape):
        score = scale * torch.randn(shape, generator=generator, dtype=torch.float64)
        return torch.where(torch.rand(shape, generator=generator) < forbidden, -torch.inf, score).to(dtype)

    lengths = torch.tensor([n - item % (n + 1) for item in range(batch)])
    return scores(batch, n, c), scores(*transitions, c, c), lengths


def answers(unary, transition, lengths, factors):
    """Log-partitions, their gradients, probabilities of pairs, best tags and their scores."""
    scores = [score.detach().requires_grad_() for score in (unary, transition)]
    here = LinearChain(*scores, lengths)
    grads = torch.autograd.grad((here.log_partition * factors).nan_to_num(neginf=0.0).sum(), scores)
    pairs, score = here.transition_marginals, here.max_score
    return [each.detach().cpu() for each in (here.log_partition, score, *grads, pairs, here.mode)]


def agree(unary, transition, lengths):
    """Compare answers with those to the same scores in float64 on the CPU; nobody may read the padding."""
    factors = torch.linspace(-1.0, 2.0, len(unary), dtype=unary.dtype)
    right = answers(unary.double(), transition.double(), lengths, factors.double())
    outside = torch.arange(unary.shape[1]) >= lengths[:, None]
    padded = unary.masked_fill(outside[..., None], torch.nan)
    if transition.dim() == 4:
        transition = transition.masked_fill(outside[:, 1:, None, None], torch.nan)
    given = (each.to(DEVICE) for each in (padded, transition, lengths, factors))
    found = by_kernels(answers, *given)
    relative, absolute = EXACT[unary.dtype]
    for mine, exact in zip(found[:2], right[:2], strict=True):
        assert torch.allclose(mine.double(), exact, relative, 1e-6 if relative > 1e-9 else 1e-12)
    for mine, exact in zip(found[2:5], right[2:5], strict=True):
        assert torch.allclose(mine.double(), exact, 0.0, absolute * max(1, unary.shape[1]))
    reached = LinearChain(unary.double(), transition.nan_to_num().double(), lengths).score(found[5])
    assert torch.allclose(reached, right[1], 1e-6)
