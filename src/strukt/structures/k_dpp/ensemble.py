"""The L-ensemble whose subsets of size k form a k-DPP, with weights tilted so that size k is typical.

With log-weights w for taking and o for leaving out an item, and E = exp(o / 2), D = exp((w + tilt) / 2),

    det(E^2 + D L D) = sum over S of  det(L_S) exp(w(S) + o(not S) + tilt |S|)

is the sum over subsets of all sizes (Kulesza and Taskar 2012, theorem 2.1, for o = 0). The size of such a subset
is a sum of independent Bernoulli variables, whose most frequent value differs from its mean by less than 1
(Darroch 1964). If the tilt makes k the mean, k is thus the most frequent size, with a probability of at least 1 /
(n + 1), and can be separated from other sizes without loss of digits, however far apart the weights are. A mean
slightly below k serves as well.

If items are dependent, E^2 would be rounded away beside D L D, which is singular. `pivoted_cholesky` computes a
matrix X of determinant 1 that eliminates the dependent rows, so that X L X^T is 0 there. With T = D X D^-1,

    T (E^2 + D L D) T^T = (T E) (T E)^T + D (X L X^T) D

has the same determinant, without cancellation.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from strukt.kernels.autograd import call
from strukt.kernels.functions import constant_function
from strukt.kernels.operator import define
from strukt.structures.k_dpp.items import Items

SHORT = 0.25
"""The distance of the target mean size below k. At k itself, k items of rank k would need infinite weights."""

CLOSE = 0.1
"""The tolerance of the mean size around its target."""

FINE = 0.05
"""The tolerance of the tilt."""

HUGE = 340.0
"""The largest log of a weight; the square of its exponential is finite in float64."""


class Ensemble(NamedTuple):
    """T (E^2 + D L D) T^T, scaled on both sides by a diagonal matrix so that all entries are at most of order 1.

    It is the sum of ``root @ root.mT`` and ``interaction``.

    Attributes:
        root: ``(batch, n, n)``, T E after scaling.
        interaction: ``(batch, n, n)``, D (X L X^T) D after scaling.
        log_scale: ``(batch,)``, to be added to the log-determinant of this sum to undo the scaling; detached.
    """

    root: Tensor
    interaction: Tensor
    log_scale: Tensor

    @classmethod
    def tilted(cls, items: Items, tilt: Tensor) -> Ensemble:
        """Return the ensemble in which the weight of each item taken is multiplied by exp(``tilt (batch,)``)."""
        weight, omitted, dependent = items.scores + tilt.unsqueeze(-1), items.omitted, items.dependent
        diagonal = items.kernel.diagonal(dim1=-2, dim2=-1).clamp(min=torch.finfo(weight.dtype).tiny)
        heavier = torch.maximum(weight + diagonal.log(), omitted)
        scale = torch.where(dependent, omitted, heavier).detach()
        taken = ((weight - scale) / 2).clamp(max=HUGE).exp()
        root = torch.diag_embed(((omitted - scale) / 2).exp()) - _shares(items, scale)
        interaction = taken.unsqueeze(-1) * _reduced(items) * taken.unsqueeze(-2)
        return cls(root, interaction, scale.sum(-1))

    def omission(self) -> Tensor:
        """Return T E^2 T^T after scaling, ``(batch, n, n)``."""
        return self.root @ self.root.mT

    def inclusion_kernel(self) -> Tensor:
        """Return the marginal kernel K = I - E (E^2 + D L D)^-1 E, ``(batch, n, n)``; NaN without an inverse."""
        inverse, failed = torch.linalg.inv_ex(self.omission() + self.interaction)
        identity = torch.eye(inverse.shape[-1], dtype=inverse.dtype, device=inverse.device)
        kernel = identity - self.root.mT @ inverse @ self.root
        return torch.where((failed > 0)[:, None, None], torch.nan, (kernel + kernel.mT) / 2)


def _shares(items: Items, scale: Tensor) -> Tensor:
    """Return E - T E after scaling, the part eliminated from dependent items; it does not depend on the tilt."""
    odds = (items.scores - scale).unsqueeze(-1) - (items.scores - items.omitted).unsqueeze(-2)
    used = items.combined != 0
    return torch.where(used, (torch.where(used, odds, 0.0) / 2).exp() * items.combined, 0.0)


def _reduced(items: Items) -> Tensor:
    """Return X L X^T, ``(batch, n, n)``; entries of dependent items are 0, but have derivatives in L."""
    removal = torch.eye(items.combined.shape[-1]).to(items.combined) - items.combined
    reduced = removal @ items.kernel @ removal.mT
    zero = items.dependent.unsqueeze(-1) | items.dependent.unsqueeze(-2)
    return reduced - torch.where(zero, reduced, 0.0).detach()


def find_tilt(items: Items) -> Tensor:
    """Return the tilt ``(batch,)`` at which the mean size is close to the requested size; not differentiable."""
    inputs = [
        value.detach() for value in (items.scores, items.omitted, items.kernel, items.size, items.combined)
    ]
    if torch.compiler.is_compiling():  # which cannot trace an autograd function inside of torch.func.vjp
        return torch.ops.strukt.k_dpp_tilt(*inputs)  # type: ignore[no-any-return]
    return call(_operator, *inputs)  # type: ignore[no-any-return]


def _find_tilt(scores: Tensor, omitted: Tensor, kernel: Tensor, size: Tensor, combined: Tensor) -> Tensor:
    """Return the tilt ``(batch,)`` of `find_tilt`, by bisection: the mean size grows with the tilt."""
    items = Items(scores, omitted, kernel, size, torch.ones_like(size, dtype=torch.bool), combined)
    target = (size - SHORT).clamp(min=SHORT)
    low, high = _bracket(items)
    while True:
        tilt = (low + high) / 2
        mean = Ensemble.tilted(items, tilt).inclusion_kernel().diagonal(dim1=-2, dim2=-1).sum(-1)
        # Near 1e15, numbers are further apart than FINE: stop when none lies between low and high.
        narrow = (high - low <= FINE) | (tilt <= low) | (tilt >= high)
        if bool((((mean - target).abs() <= CLOSE) | narrow).all()):
            return tilt
        short = mean < target  # False where the tilt is too large for an inverse
        low, high = torch.where(short, tilt, low), torch.where(short, high, tilt)


def _bracket(items: Items) -> tuple[Tensor, Tensor]:
    """Return a tilt ``(batch,)`` at which almost no optional items are taken, and one at which almost all are.

    The eigenvalues of a kernel scaled to unit diagonal are at most n, and count as 0 below exp(-36).
    """
    diagonal = items.kernel.diagonal(dim1=-2, dim2=-1)
    level = items.scores + diagonal.log() - items.omitted
    count = level.new_tensor(float(level.shape[-1])).log1p()
    finite = torch.nn.functional.pad(torch.where(level.isfinite(), level, 0.0), (0, 1))  # 0 if there are none
    return -finite.amax(-1) - count - 5.0, 80.0 + count - finite.amin(-1)


def _fake(scores: Tensor, omitted: Tensor, kernel: Tensor, size: Tensor, combined: Tensor) -> Tensor:
    """Return a tensor with the shape of the result of `_find_tilt`, for tracing."""
    return scores.new_empty(len(scores))


_SCHEMA = "(Tensor scores, Tensor omitted, Tensor kernel, Tensor size, Tensor combined) -> Tensor"
_operator = constant_function(define("k_dpp_tilt", _SCHEMA, _find_tilt, _fake))
