"""Derivatives of the proximal maps, computed from the maps' values: entries of equal value move together.

The Jacobian times a direction is the mean of the direction over the group of each entry (Niculae and Blondel 2017,
section 3). A group is a run of equal values for total variation, and all entries of the same value for OSCAR.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from strukt.kernels.autograd import Batched, call, call_backward
from strukt.kernels.operator import forward_of, operator


def _group_means(values: Tensor, groups: Tensor) -> Tensor:
    """Return, for each entry, the mean of the values in its group.

    Both arguments are ``(rows, d)``; ``groups`` holds the number of each entry's group, from 0 in each row.
    """
    sums = torch.zeros_like(values).scatter_add(-1, groups, values)
    counts = torch.zeros_like(values).scatter_add(-1, groups, torch.ones_like(values))
    return (sums / counts.clamp(min=1.0)).gather(-1, groups)


def _numbered(starts: Tensor) -> Tensor:
    """Return the number of each entry's group, from a mask of the first entries of groups."""
    return starts.long().cumsum(-1) - 1


def _starts(values: Tensor) -> Tensor:
    """Return a mask of the values that differ from the value before; True at the first."""
    first = torch.ones_like(values[..., :1], dtype=torch.bool)
    return torch.cat([first, values[..., 1:] != values[..., :-1]], -1)


def _run_means(direction: Tensor, fused: Tensor) -> Tensor:
    """Return, for each entry ``(rows, d)``, the mean of a direction in its run of equal values; 0 at -inf."""
    result = _group_means(direction, _numbered(_starts(fused)))
    return torch.where(fused > -torch.inf, result, 0.0)


_RUN_MEANS = operator(
    __package__,
    "variation_pull",
    "(Tensor direction, Tensor fused) -> Tensor",
    _run_means,
    lambda direction, fused: torch.empty_like(direction),
)


class _RunMeans(Batched):
    """Autograd function of the means of a direction in runs of equal values; the runs are constant."""

    forward = staticmethod(forward_of(_RUN_MEANS))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(inputs[1])
        ctx.save_for_forward(inputs[1])

    @staticmethod
    def backward(ctx: Any, direction: Tensor) -> Any:
        return call(_RunMeans, direction, *ctx.saved_tensors), None


class _EagerRunMeans(_RunMeans):
    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> Tensor:
        (fused,) = ctx.saved_tensors
        return torch.zeros_like(fused) if tangents[0] is None else call(_RunMeans, tangents[0], fused)


_RunMeans.Eager = _EagerRunMeans


def _if_weighted(means: Tensor, direction: Tensor, fused: Tensor, weight: Tensor) -> Tensor:
    """Return the means, or the direction itself in rows of weight 0, where equal entries are not fused."""
    alone = torch.where(fused > -torch.inf, direction, 0.0)
    return torch.where(weight.unsqueeze(-1) > 0.0, means, alone)


def variation_pull(direction: Tensor, fused: Tensor, weight: Tensor) -> Tensor:
    """Return the Jacobian of total variation's map with respect to the scores, times a direction ``(rows, d)``.

    ``fused (rows, d)`` is the value of the map.
    """
    return _if_weighted(_means_of_runs(direction, fused), direction, fused, weight)


def _means_of_runs(direction: Tensor, fused: Tensor) -> Tensor:
    """Return `_run_means`, differentiable in the direction."""
    return call_backward(_RunMeans, direction, fused)  # type: ignore[no-any-return]


def variation_sensitivity(fused: Tensor, weight: Tensor) -> Tensor:
    """Return the derivative of total variation's map with respect to the weight, ``(rows, d)``.

    Each end of a run is drawn towards its neighbour with force 1; the entries of the run share the sum equally.
    """
    if not fused.shape[-1]:
        return torch.zeros_like(fused)
    apart = (fused[..., :-1] > -torch.inf) & (fused[..., 1:] > -torch.inf)
    upwards = torch.where(apart, torch.sign(fused[..., 1:] - fused[..., :-1]).nan_to_num(), 0.0)
    none = torch.zeros_like(fused[..., :1])
    forces = torch.cat([upwards, none], -1) - torch.cat([none, upwards], -1)
    return _means_of_runs(forces, fused)


def _in_order(fused: Tensor) -> tuple[Tensor, Tensor]:
    """Return the indices that sort each row in descending order, and the number of each sorted entry's group."""
    ranked, order = fused.sort(dim=-1, descending=True, stable=True)
    return order, _numbered(_starts(ranked))


def oscar_pull(direction: Tensor, fused: Tensor, weight: Tensor) -> Tensor:
    """Return the Jacobian of OSCAR's map with respect to the scores, times a direction ``(rows, d)``.

    ``fused (rows, d)`` is the value of the map.
    """
    return _if_weighted(_means_of_groups(direction, fused), direction, fused, weight)


def _means_of_groups(direction: Tensor, fused: Tensor) -> Tensor:
    """Return, for each entry ``(rows, d)``, the mean of a direction over all entries of its value; 0 at -inf."""
    order, groups = _in_order(fused)
    means = _group_means(direction.gather(-1, order), groups)
    return torch.where(fused > -torch.inf, torch.zeros_like(means).scatter(-1, order, means), 0.0)


def oscar_sensitivity(fused: Tensor, weight: Tensor) -> Tensor:
    """Return the derivative of OSCAR's map with respect to the weight, ``(rows, d)``.

    It is minus the number of finite entries after an entry in descending order, averaged over its group.
    """
    order, _ = _in_order(fused)
    ranks = torch.arange(fused.shape[-1], device=fused.device, dtype=fused.dtype).expand_as(fused)
    above = ranks + 1 - (fused > -torch.inf).sum(-1, keepdim=True)
    return _means_of_groups(torch.zeros_like(fused).scatter(-1, order, above), fused)
