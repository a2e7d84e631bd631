"""Sequential selection of items by their conditional variance: samples and the greedy mode of k-DPPs."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from strukt.kernels.semiring import NEG_INF
from strukt.structures.k_dpp.ensemble import Ensemble, find_tilt
from strukt.structures.k_dpp.items import Items
from strukt.structures.k_subset.reference import ORACLES as SUBSETS
from strukt.structures.k_subset.reference import largest


def one_by_one(
    variance: Tensor, size: Tensor, column: Callable[[Tensor], Tensor], choose: Callable[[Tensor], Tensor]
) -> Tensor:
    """Select items one by one; return masks ``(batch, n)`` of the items taken.

    Args:
        variance: ``(batch, n)``, the diagonal of the kernel of the items.
        size: ``(batch,)``, the number of items to take.
        column: A function of the index of an item ``(batch, 1)`` that returns its column of the kernel ``(batch,
            n)``.
        choose: A function of the conditional variances ``(batch, n)``, 0 for items already taken, that returns the
            index of the next item ``(batch, 1)``.

    A step adds one row to a Cholesky decomposition (Chen et al. 2018, section 3); time O(n k^2) and k columns.
    """
    taken = torch.zeros_like(variance, dtype=torch.bool)
    rows = variance.new_zeros(0, *variance.shape)
    for step in range(largest(size, variance.shape[-1])):
        item = choose(variance)
        explained = (rows * rows.gather(-1, item.expand(len(rows), -1, -1))).sum(0)
        scale = variance.gather(-1, item).clamp(min=torch.finfo(variance.dtype).tiny).sqrt()
        row = (column(item) - explained) / scale
        rows = torch.cat([rows, row.unsqueeze(0)])
        taken = taken | ((step < size).unsqueeze(-1) & torch.zeros_like(taken).scatter(-1, item, True))
        variance = (variance - row.square()).clamp(min=0.0).masked_fill(taken, 0.0)
    return taken


def sample(items: Items, count: int) -> Tensor:
    """Return masks of exact samples ``(batch, count, n)``; time O(n^3) per item, plus O(n k^2) per sample.

    A determinantal process is a mixture of processes of one size, each spanned by some of its eigenvectors
    (Hough et al. 2006; Kulesza and Taskar 2012, algorithm 8): first k eigenvectors are drawn, then k items.
    """
    eigenvalues, vectors = torch.linalg.eigh(Ensemble.tilted(items, find_tilt(items)).inclusion_kernel())
    chances = eigenvalues.clamp(0.0, 1.0)
    everything = torch.full_like(items.size, chances.shape[-1])
    spanning, _ = SUBSETS.sample(chances.log(), (-chances).log1p(), everything, items.size, items.size, count)
    spanning = spanning.flatten(0, 1)
    first = spanning.sort(-1, descending=True).indices[..., : largest(items.size, chances.shape[-1])]
    repeated = vectors.repeat_interleave(count, 0)
    chosen = repeated.gather(-1, first.unsqueeze(-2).expand(-1, vectors.shape[-2], -1))
    basis = chosen * spanning.gather(-1, first).unsqueeze(-2)
    possible = (items.scores > NEG_INF).repeat_interleave(count, 0)
    basis = torch.where(possible.unsqueeze(-1), basis, 0.0)

    def column(item: Tensor) -> Tensor:
        row = basis.gather(-2, item.unsqueeze(-1).expand(-1, -1, basis.shape[-1]))
        return (basis * row).sum(-1)

    variance, size = basis.square().sum(-1), items.size.repeat_interleave(count, 0)
    taken = one_by_one(variance, size, column, _drawn)
    return taken.reshape(len(items.size), count, taken.shape[-1])


def greedy(items: Items, tolerance: float) -> Tensor:
    """Select the item that adds most to the score in each step, required items first; return masks ``(batch, n)``.

    Items whose variance, relative to the diagonal, is within the tolerance are dependent, and not taken. Time
    O(n k^2).
    """
    diagonal = items.kernel.diagonal(dim1=-2, dim2=-1)
    gain = items.scores - items.omitted

    def column(item: Tensor) -> Tensor:
        return items.kernel.gather(-2, item.unsqueeze(-1).expand(-1, -1, gain.shape[-1])).squeeze(-2)

    def choose(variance: Tensor) -> Tensor:
        independent = variance > tolerance * diagonal
        return torch.where(independent, gain + variance.log(), NEG_INF).argmax(-1, keepdim=True)

    return one_by_one(diagonal, items.size, column, choose)


def _drawn(variance: Tensor) -> Tensor:
    """Draw the index of an item, ``(batch, 1)``, in proportion to the variances; any item if all are 0.

    They are all 0 once a subset is complete.
    """
    none = (variance <= 0).all(-1, keepdim=True)
    return torch.where(none, torch.ones_like(variance), variance).multinomial(1)
