"""Reference of k-DPPs in PyTorch: sums over subsets from determinants at points of a circle.

The weight of all subsets of k items is the coefficient of z^k in the polynomial det(E^2 + z D L D), obtained from
its values at roots of unity by a discrete Fourier transform. In the eigenvalues of L this coefficient is an
elementary symmetric polynomial (Kulesza and Taskar 2012, proposition 5.1), but eigenvectors have no derivatives
where eigenvalues repeat, while determinants are smooth everywhere, and their derivatives of any order are those of
PyTorch. `ensemble` chooses the radius of the circle such that the sum loses no digits.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from strukt.kernels.semiring import NEG_INF
from strukt.structures.k_dpp import enumeration, selection
from strukt.structures.k_dpp.ensemble import Ensemble, find_tilt
from strukt.structures.k_dpp.items import Items
from strukt.structures.k_subset.reference import SubsetEvents, largest, padded

NEGLIGIBLE = -40.0
"""The log of the probability below which another size is negligible, so that it may alias with k."""


class Determinantal(SubsetEvents):
    """The reference oracles of k-DPPs; their arguments are ``scores, omitted, kernel, lengths, k``.

    The log-partition, its derivatives and samples take polynomial time; all other operators enumerate the subsets.
    """

    def log_partition(self, *arguments: Any) -> Tensor:
        """Return the log-partition ``(batch,)``; time O(m n^3) for m determinants.

        m is about half the larger of k and 8 sqrt(k) + 20, and at most n / 2 + 1.
        """
        items = Items.load(*arguments)
        tilt = find_tilt(items)
        ensemble = Ensemble.tilted(items, tilt)
        n = arguments[0].shape[-1]
        count = _count_points(n - largest(n - items.size, n), largest(items.size, n), n)
        angle = math.pi / count * torch.arange(1, count, 2, dtype=tilt.dtype, device=tilt.device)
        point = torch.polar(torch.ones_like(angle), angle)[:, None, None]
        omission, interaction = ensemble.omission()[:, None], ensemble.interaction[:, None]
        sign, log_size = torch.linalg.slogdet(omission + point * interaction)
        top = log_size.detach().amax(-1, keepdim=True)
        turned = sign * torch.polar(torch.ones_like(log_size), -angle * items.size.unsqueeze(-1))
        total = (turned.real * (log_size - top).exp()).mean(-1)
        some = items.feasible & (total > 0)
        log_total = torch.where(some, total, 1.0).log() + top.squeeze(-1) + ensemble.log_scale
        result = torch.where(some, log_total - items.size * tilt, NEG_INF)
        return result.to(arguments[0].dtype)

    def sample(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        """Return exact samples ``(batch, count, n)`` and the log-partition; count is the last argument."""
        *inputs, count = arguments
        with torch.no_grad():
            items = Items.load(*inputs)
            taken = selection.sample(items, count)
            events = padded(taken.long(), inputs[3].unsqueeze(-1))
            return torch.where(items.feasible[:, None, None], events, -1), self.log_partition(*inputs)

    def _precise(self, score: Tensor) -> Tensor:
        """Return scores unchanged: the dtype of the kernel decides which items count as linearly dependent."""
        return score


def _count_points(low: int, high: int, n: int) -> int:
    """Return an even number of points at which no size k from ``low`` to ``high`` aliases with a probable size.

    Sizes that differ by a multiple of this number are indistinguishable; none is above n. By Chernoff's bound, a
    random size with mean mu, here below k + 1, is m or larger with probability at most exp(m - mu) (mu / m)^m. The
    distance of such an m from k grows with k.
    """
    mean = high + 1
    most = high + 2
    while most - high <= n - low and most - mean + most * math.log(mean / most) > NEGLIGIBLE:
        most += 1
    return 2 * math.ceil(min(max(most - high, high + 1), n + 1) / 2)


REFERENCE = Determinantal(enumeration.recursion, count=3)
