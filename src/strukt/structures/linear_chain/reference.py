"""Reference of the linear chain: the forward algorithm over any semiring, in PyTorch."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.kernels.dynamic_program import DynamicProgram
from strukt.kernels.semiring import Max, Semiring


def recursion(semiring: Semiring, unary: Tensor, transition: Tensor, lengths: Tensor) -> Tensor:
    """Return the semiring's total over all tag sequences, ``(..., batch)``.

    Args:
        semiring: The semiring to compute in.
        unary: ``(..., batch, n, c)``.
        transition: ``(..., g, s, c, c)`` with s = n - 1 steps, or s = 1 for one matrix at every step;
            g divides the batch, and consecutive items share a matrix.
        lengths: ``(batch,)``.

    Time O(n c^2), n steps one after another (Rabiner 1989, equation 20).
    """
    empty = semiring.one(torch.zeros_like(unary[..., 0, 0]) if unary.numel() else unary.sum((-2, -1)))
    if unary.shape[-2] == 0:
        return empty
    last = _forward(semiring, *_clean(unary, transition, lengths), lengths)[-1]
    return torch.where(lengths > 0, semiring.sum(last, -1), empty)


def max_marginals(unary: Tensor, transition: Tensor, lengths: Tensor) -> Tensor:
    """Return, for each position and tag, the best score of a sequence with it, ``(batch, n, c)``.

    Shapes are those of `recursion` without further axes in front. Time O(n c^2).
    """
    n = unary.shape[1]
    if n == 0:
        return unary
    unary, transition = _clean(unary, transition, lengths)
    forward = _forward(Max(), unary, transition, lengths)
    beta = torch.zeros_like(unary[:, -1])
    result = [forward[-1]]
    for t in range(n - 2, -1, -1):
        onward = (_step(transition, t + 1) + (unary[:, t + 1] + beta).unsqueeze(-2)).amax(-1)
        beta = torch.where((t + 1 < lengths)[:, None], onward, beta)
        result.append(forward[t] + beta)
    return torch.stack(result[::-1], 1)


def _clean(unary: Tensor, transition: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the scores with zeros in the padding, and with transitions repeated for each item."""
    n = unary.shape[-2]
    position = torch.arange(n, device=unary.device)
    unary = unary.masked_fill((position >= lengths[:, None])[..., None], 0.0)
    transition = transition.repeat_interleave(len(lengths) // max(transition.shape[-4], 1), -4)
    if transition.shape[-3] == n - 1:
        transition = transition.masked_fill((position[1:] >= lengths[:, None])[..., None, None], 0.0)
    return unary, transition


def _step(transition: Tensor, t: int) -> Tensor:
    """Return the transition matrix of the step to position t."""
    return transition[..., min(t, transition.shape[-3]) - 1, :, :]


def _forward(semiring: Semiring, unary: Tensor, transition: Tensor, lengths: Tensor) -> list[Tensor]:
    """Return for each position the total over all paths to each tag, ``(..., batch, c)``.

    After the end of an item, the totals of its last position are repeated.
    """
    first = unary[..., 0, :]
    alphas = [semiring.weigh(semiring.one(first), first)]
    for t in range(1, unary.shape[-2]):
        entered = semiring.sum(semiring.weigh(alphas[-1].unsqueeze(-1), _step(transition, t)), -2)
        following = semiring.weigh(entered, unary[..., t, :])
        alphas.append(torch.where((t < lengths)[:, None], following, alphas[-1]))
    return alphas


REFERENCE = DynamicProgram(recursion, count=2)
