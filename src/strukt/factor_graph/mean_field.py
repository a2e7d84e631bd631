"""Mean field on a factor graph: the blocks of its variables, and the order of their updates."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from strukt.factor_graph.blocks import Block, blocks_of, colours, groupwise, stacked
from strukt.factor_graph.compile import Arrays, Problem
from strukt.factor_graph.factor import AnyFactor
from strukt.factor_graph.soft import Soft
from strukt.factor_graph.variables import VariablesLike
from strukt.inference import mean_field as inference
from strukt.inference.mean_field import Blocks, MeanField, Settings
from strukt.kernels.full_precision import full_precision

Setting = float | Tensor | Sequence[Tensor]
"""A setting: a number for all variables, or tensors in the shapes of the variables."""

Ordering = str | Sequence[VariablesLike]
"""An order of updates: ``"sequential"``, ``"parallel"``, or arrays of variables to update one after another."""


@full_precision
def mean_field(
    problem: Problem, arrays: Arrays, settings: Settings, ordering: Ordering
) -> MeanField[Tensor | tuple[Tensor, ...]]:
    """Run mean field on a graph, and return the result in the shapes of its variables.

    Args:
        problem: The graph, with scores.
        arrays: The shapes of the arrays of its variables.
        settings: The settings of the iterations.
        ordering: The order of updates; see `Ordering`.

    Raises:
        ValueError: If a factor forbids assignments or scores several alternatives of a group together, or the
            ordering or a setting does not fit.
    """
    model = _Model(problem)
    blocks = blocks_of(problem.layout.variables, problem.factors)
    _require_even(blocks, settings)
    steps = _steps(blocks, problem.factors, ordering)
    device = problem.scores.device
    schedule = [
        [Blocks(torch.from_numpy(index).to(device), grouped) for index, grouped in step] for step in steps
    ]
    result = inference.mean_field(model, schedule, settings)
    shape = problem.batch_shape
    return MeanField(
        arrays.shaped(result.marginals.reshape(*shape, result.marginals.shape[1]).to(problem.type)),
        result.energy.reshape(*shape, result.energy.shape[-1]).to(problem.type),
        result.free_energy.reshape(*shape, result.energy.shape[-1]).to(problem.type),
        result.status.reshape(shape),
        result.residual.reshape(shape),
        result.iterations.reshape(shape),
    )


def _steps(blocks: list[Block], factors: Sequence[AnyFactor], ordering: Ordering) -> list[list[Block]]:
    """Return the steps of a sweep, each with the blocks that it updates at once, stacked by size."""
    if ordering == "sequential":
        return colours(blocks, factors)
    if ordering == "parallel":
        return [stacked(blocks)]
    if isinstance(ordering, str):
        raise ValueError(
            f"schedule is {ordering!r}; expected 'sequential', 'parallel', or a list of groups of variables"
        )
    return groupwise(blocks, ordering)


class _Model:
    """A graph of soft factors as the model of mean field: the expected score and its derivatives."""

    def __init__(self, problem: Problem) -> None:
        self.scores = problem.scores
        device = problem.scores.device
        self._factors: list[tuple[Soft, Tensor, Tensor]] = []
        for factor in problem.factors:
            index = torch.from_numpy(factor.variables.index).to(device)
            negated = torch.from_numpy(factor.variables.negated).to(device)
            self._factors.append((_require_soft(factor), index, negated))

    def expected(self, point: Tensor) -> Tensor:
        total = torch.zeros_like(point[:, 0])
        for factor, index, negated in self._factors:
            total = total + factor.expected(_seen(point[:, index], negated))
        return total

    def fields(self, point: Tensor, variables: Sequence[Tensor]) -> list[Tensor]:
        total = torch.zeros_like(point)
        for factor, places, negated in self._factors:
            field = factor.fields(_seen(point[:, places], negated))
            total = total.index_add(1, places, torch.where(negated, -field, field))
        return [total[:, some] for some in variables]


def setting_of(arrays: Arrays, name: str, setting: Setting) -> float | Tensor:
    """Return a setting as one number, also as a tensor ``()``, or as ``(V,)`` with a number for each variable.

    Raises:
        ValueError: If the shapes of tensors are not those of the arrays.
    """
    if isinstance(setting, Tensor) and setting.dim() == 0:
        return setting  # not a float, which would have no gradient
    if not isinstance(setting, (Tensor, Sequence)):
        return float(setting)
    parts = [setting] if isinstance(setting, Tensor) else list(setting)
    shapes = [tuple(part.shape) if isinstance(part, Tensor) else type(part).__name__ for part in parts]
    if shapes != list(arrays.shapes):
        raise ValueError(
            f"{name} has the shapes {', '.join(map(str, shapes))}; expected a number, or tensors in the shapes of "
            f"the variables, {arrays.shapes}"
        )
    return torch.cat([part.reshape(-1) for part in parts])


def _require_even(blocks: Sequence[Block], settings: Settings) -> None:
    """Raise ValueError if the variables of a group differ in a setting."""
    for name in ("weight", "step_size", "damping"):
        setting = getattr(settings, name)
        if not isinstance(setting, Tensor) or not setting.dim():
            continue
        for members, _ in blocks:
            values = setting[torch.from_numpy(members).to(setting.device)]
            if bool((values != values[0]).any()):
                argument = "weights" if name == "weight" else name
                raise ValueError(
                    f"{argument} is {values.tolist()} for a group of alternatives; expected one number for the "
                    "group"
                )


def _seen(point: Tensor, negated: Tensor) -> Tensor:
    """Return the probabilities that a factor sees: 1 - p for its negated variables."""
    return torch.where(negated, 1 - point, point)


def _require_soft(factor: AnyFactor) -> Soft:
    """Return the factor if it is soft: it forbids nothing, except that one variable of each group must be 1.

    Raises:
        ValueError: If it forbids other assignments.
    """
    if isinstance(factor, Soft) and factor.is_finite():
        return factor
    raise ValueError(
        f"{factor} forbids assignments, which mean_field does not support; expected Pairwise, Dense or Chain with "
        "finite scores, or Xor as a group of alternatives; use belief_propagation or lp_sparsemap"
    )
