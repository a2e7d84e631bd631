"""The process of which a k-DPP is the part of size k, with its weights tilted so that size k is typical.

With weights w of taking and o of leaving out an item, and E = exp(o / 2), D = exp((w + tilt) / 2),

    det(E^2 + D L D) = sum over S of  det(L_S) exp(w(S) + o(not S) + tilt |S|)

is the sum over subsets of all sizes (Kulesza and Taskar 2012, theorem 2.1, for o = 0). The size of such a subset
is a sum of independent Bernoulli variables, whose most frequent value differs from its mean by less than 1
(Darroch 1964). If the tilt makes k the mean, k is thus the most frequent size, with a probability of at least
1 / (n + 1), and is told from other sizes without a loss of digits, however far apart the weights are.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from strukt.kernels.autograd import call, constant_function
from strukt.kernels.determinantal.items import Items

CLOSE = 0.25
"""How far the mean size may lie from k."""

MOST_STEPS = 60


class Ensemble(NamedTuple):
    """E^2 + D L D divided on both sides by a diagonal matrix, so that all entries are at most of order 1.

    Attributes:
        omission: The diagonal of E^2 after the division ``(batch, n)``.
        interaction: D L D after the division ``(batch, n, n)``.
        log_scale: The log of the determinant of what was divided by ``(batch,)``; without derivatives.
    """

    omission: Tensor
    interaction: Tensor
    log_scale: Tensor

    @classmethod
    def tilted(cls, items: Items, tilt: Tensor) -> Ensemble:
        """The process in which ``exp(tilt)`` ``(batch,)`` multiplies the weight of each item taken."""
        weight = items.scores + tilt.unsqueeze(-1)
        diagonal = items.kernel.diagonal(dim1=-2, dim2=-1).clamp(min=torch.finfo(weight.dtype).tiny)
        scale = torch.maximum(weight + diagonal.log(), items.omitted).detach()
        taken = ((weight - scale) / 2).exp()
        interaction = taken.unsqueeze(-1) * items.kernel * taken.unsqueeze(-2)
        return cls((items.omitted - scale).exp(), interaction, scale.sum(-1))

    def inclusion_kernel(self) -> Tensor:
        """The kernel K of the marginals: K = I - E (E^2 + D L D)^-1 E, ``(batch, n, n)``."""
        left_out = self.omission.sqrt()
        inverse: Tensor = torch.linalg.inv(torch.diag_embed(self.omission) + self.interaction)
        identity = torch.eye(inverse.shape[-1], dtype=inverse.dtype, device=inverse.device)
        kernel = identity - left_out.unsqueeze(-1) * inverse * left_out.unsqueeze(-2)
        return (kernel + kernel.mT) / 2


def find_tilt(items: Items) -> Tensor:
    """The tilt ``(batch,)`` at which the mean size is close to the one wanted; without derivatives."""
    inputs = [value.detach() for value in (items.scores, items.omitted, items.kernel, items.size)]
    if torch.compiler.is_compiling():  # which cannot trace an autograd function inside of torch.func.vjp
        return torch.ops.strukt.determinantal_tilt(*inputs)  # type: ignore[no-any-return]
    return call(_operator, *inputs)  # type: ignore[no-any-return]


def _find_tilt(scores: Tensor, omitted: Tensor, kernel: Tensor, size: Tensor) -> Tensor:
    """Bisection: the mean size grows with the tilt."""
    items = Items(scores, omitted, kernel, size, torch.ones_like(size, dtype=torch.bool))
    low, high = _bracket(items)
    for _ in range(MOST_STEPS):
        tilt = (low + high) / 2
        mean = Ensemble.tilted(items, tilt).inclusion_kernel().diagonal(dim1=-2, dim2=-1).sum(-1)
        if bool(((mean - size).abs() <= CLOSE).all()):
            break
        low, high = torch.where(mean < size, tilt, low), torch.where(mean > size, tilt, high)
    return tilt


def _bracket(items: Items) -> tuple[Tensor, Tensor]:
    """Tilts at which nearly none and nearly all of the items that are neither forbidden nor required are taken.

    Eigenvalues of a kernel scaled to unit diagonal lie between its rank tolerance, for which there is room here,
    and n.
    """
    diagonal = items.kernel.diagonal(dim1=-2, dim2=-1)
    level = items.scores + diagonal.log() - items.omitted
    finite = level.isfinite()
    top = torch.where(finite, level, 0.0).flatten(1).amax(-1) if level.shape[-1] else level.sum(-1)
    bottom = torch.where(finite, level, 0.0).flatten(1).amin(-1) if level.shape[-1] else level.sum(-1)
    room = 100.0 + torch.log1p(torch.tensor(float(level.shape[-1])))
    return -top - room, -bottom + room


def _fake(scores: Tensor, omitted: Tensor, kernel: Tensor, size: Tensor) -> Tensor:
    return scores.new_empty(len(scores))


torch.library.custom_op(
    "strukt::determinantal_tilt",
    _find_tilt,
    mutates_args=(),
    schema="(Tensor scores, Tensor omitted, Tensor kernel, Tensor size) -> Tensor",
).register_fake(_fake)
_operator = constant_function(torch.ops.strukt.determinantal_tilt.default)
