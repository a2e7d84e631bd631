"""The inputs of the k-DPP algorithms: weights and kernels in float64, cleaned so that no computation fails."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from strukt.kernels.semiring import NEG_INF
from strukt.structures.k_dpp.pivoted_cholesky import combinations
from strukt.structures.k_subset.sorting import clean


class Items(NamedTuple):
    """The items of a batch. If a batch item has no subset of positive weight, harmless numbers replace its own.

    Attributes:
        scores: ``(batch, n)``, the log-weight of taking each item; -inf in the padding.
        omitted: ``(batch, n)``, the log-weight of leaving each item out; 0 in the padding.
        kernel: ``(batch, n, n)``, symmetric; 0 in the padding.
        size: ``(batch,)``, the size of the subsets.
        feasible: ``(batch,)``, a mask of the batch items that have a subset of this size with positive weight.
        combined: ``(batch, n, n)``, the coefficients of dependent items as combinations of independent items; see
            `pivoted_cholesky.combinations`.
    """

    scores: Tensor
    omitted: Tensor
    kernel: Tensor
    size: Tensor
    feasible: Tensor
    combined: Tensor

    @classmethod
    def load(cls, scores: Tensor, omitted: Tensor, kernel: Tensor, lengths: Tensor, k: Tensor) -> Items:
        """Return the items from the arguments of the oracles; differentiable."""
        tolerance = rank_tolerance(kernel)
        scores, omitted = clean(scores.double(), omitted.double(), lengths)
        kernel = clean_kernel(kernel.double(), lengths)
        feasible = _feasible(scores.detach(), omitted.detach(), kernel.detach(), k, tolerance)
        some = feasible.unsqueeze(-1)
        scores, omitted = torch.where(some, scores, 0.0), torch.where(some, omitted, 0.0)
        identity = torch.eye(kernel.shape[-1], dtype=kernel.dtype, device=k.device)
        kernel, k = torch.where(some.unsqueeze(-1), kernel, identity), torch.where(feasible, k, 0)
        combined = combinations(scores - omitted, kernel, k, tolerance)
        return cls(scores, omitted, kernel, k, feasible, combined)

    @property
    def dependent(self) -> Tensor:
        """A mask ``(batch, n)`` of the items that count as linear combinations of others, or as zero vectors."""
        return (self.combined != 0).any(-1) | (self.kernel.diagonal(dim1=-2, dim2=-1) <= 0)


def rank_tolerance(kernel: Tensor) -> float:
    """Return the tolerance of ranks of a kernel scaled to unit diagonal: smaller eigenvalues and variances are 0.

    It depends on the size and the type of ``kernel (..., n, n)`` only, so pass it before a conversion to float64.
    """
    return 4 * max(kernel.shape[-1], 1) * torch.finfo(kernel.dtype).eps


def clean_kernel(kernel: Tensor, lengths: Tensor) -> Tensor:
    """Return symmetric kernels with 0 in the padding, one for each item: ``(..., batch, n, n)``."""
    kernel = kernel.repeat_interleave(len(lengths) // max(kernel.shape[-3], 1), -3)
    inside = torch.arange(kernel.shape[-1], device=kernel.device) < lengths.unsqueeze(-1)
    kernel = torch.where(inside.unsqueeze(-1) & inside.unsqueeze(-2), kernel, 0.0)
    return (kernel + kernel.mT) / 2


def rank(kernel: Tensor, among: Tensor, tolerance: float) -> Tensor:
    """Return the largest number of linearly independent items within the mask ``among (..., n)``.

    It is the number of eigenvalues above ``tolerance`` of ``kernel (..., n, n)`` scaled to unit diagonal. Not
    differentiable.
    """
    kernel = kernel.detach()
    scale = kernel.diagonal(dim1=-2, dim2=-1)
    scale = torch.where(among & (scale > 0), scale.clamp(min=torch.finfo(scale.dtype).tiny).rsqrt(), 0.0)
    eigenvalues: Tensor = torch.linalg.eigvalsh(scale.unsqueeze(-1) * kernel * scale.unsqueeze(-2))
    return (eigenvalues > tolerance).sum(-1)


def _feasible(scores: Tensor, omitted: Tensor, kernel: Tensor, k: Tensor, tolerance: float) -> Tensor:
    """Return a mask ``(batch,)``, True if k independent items can be taken, among them all required items."""
    possible, required = scores > NEG_INF, omitted == NEG_INF
    count = required.sum(-1)
    independent = rank(kernel, required, tolerance) == count
    enough = rank(kernel, possible, tolerance) >= k
    return (possible | ~required).all(-1) & independent & enough & (count <= k)
