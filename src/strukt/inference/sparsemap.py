"""SparseMAP: the point of a marginal polytope nearest to the scores, from the mode oracle alone.

    argmax over mu in M of  <scores, mu> - 1/2 ||mu||^2        (Niculae et al. 2018, equation 5)

The solution is a convex combination of few structures, computed by an active set (`strukt.kernels.sparsemap`) or,
for comparison, by `strukt.inference.conditional_gradient`. The derivative depends only on these structures: on
their affine hull the solution is a linear function of their scores (equation 9).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from strukt.kernels import dispatch
from strukt.kernels.interpreted import current
from strukt.kernels.jit import over_batch, thread_count
from strukt.kernels.semiring import precise
from strukt.kernels.sparsemap import rounds
from strukt.kernels.sparsemap.dense import rounds as dense_rounds
from strukt.kernels.sparsemap.products import response
from strukt.kernels.sparsemap.result import Result, Settings, Start, capacity, make_result
from strukt.kernels.sparsemap.state import CONVERGED, SIZE, make
from strukt.kernels.undifferentiated import carries_derivative, may_differentiate, numpy_of
from strukt.shown import Shown

MAX_ITERATIONS = 1000
"""The default maximum number of calls of the mode oracle for an item."""

TOL = 1e-9
"""The default error in the marginals at which to stop."""

Best = Callable[[Tensor], tuple[Tensor, Tensor]]
"""A mode oracle: a function of scores ``(batch, *parts)`` to the best events ``(batch, *event)`` and their scores
``(batch,)``, -inf if every structure is forbidden."""


@dataclass(frozen=True)
class SparseMAP(Shown):
    """The sparse marginals of SparseMAP, and the structures of which they are a mixture.

    Notebooks display a picture of them.

    Attributes:
        marginals: The marginals, in the shape of the main scores; differentiable.
        weights: ``batch + (k,)``, the probabilities of the structures; differentiable. 0 in the padding, and for
            tied structures, which the derivative needs but the solution does not.
        events: ``batch + (k,) + event_shape``, the structures, padded with -1.
        status: ``batch``, Boolean: True if the solution is as exact as requested, or as exact as rounding allows.
        gap: ``batch``, the duality gap: at least half the squared error of the marginals.
        iterations: ``batch``, the number of calls of the mode oracle.
        family: The class of the distribution, which determines the picture; None if there is no class.
    """

    marginals: Tensor
    weights: Tensor
    events: Tensor
    status: Tensor
    gap: Tensor
    iterations: Tensor
    family: type | None = None


def active_set(
    main: Tensor, p: int, start: Start, settings: Settings,
    best: Best, to_parts: Callable[[Tensor], Tensor], extra: Callable[[Tensor], Tensor],
) -> tuple[Result, list[Tensor]]:  # fmt: skip
    """Run the active sets of all items of a batch side by side, with one call of the oracle in each round.

    On CPUs, compiled kernels update the active sets; on a GPU they are dense tensors, which stay there.

    Args:
        main: Scores ``(batch, *parts)`` in double precision.
        p: The largest number of parts in a structure.
        start: The structures to start from, with their weights.
        settings: The maximum number of calls of the mode oracle for an item, and the tolerance.
        best: The mode oracle; see `Best`.
        to_parts: Function of events ``(batch, *event)`` to their 0/1 parts ``(batch, *parts)``.
        extra: Function of events ``(batch, *event)`` to their scores ``(batch,)`` in addition to those of parts.

    Returns:
        The active sets, and the events that the oracle returned in each round, ``(batch, *event)``. Items of which
        every structure is forbidden have the phase INFEASIBLE; no error is raised.
    """
    if not dispatch.is_for_cpu(main):
        return dense_rounds.solve(main, p, start, settings, best, to_parts, extra)
    batch, d = len(main), main[0].numel()
    most = capacity(d, start, settings)
    sets = current(make)(batch, d, p, min(rounds.FIRST_CAPACITY + start.weights.shape[1], most))
    current(rounds.begin)(main.reshape(batch, d).double().numpy(), start, sets)
    answers = []
    while rounds.any_open(sets):
        events, values = best(torch.from_numpy(sets.query.copy()).reshape(main.shape).to(main))
        feasible = values > -torch.inf
        used = (to_parts(events).reshape(batch, d) > 0).cpu().numpy()
        answer = (used, numpy_of(extra(events)), feasible.cpu().numpy())
        over_batch(rounds.advance, thread_count(batch, batch * d * 50), sets, *answer, settings)
        answers.append(events)
        if sets.counters[:, SIZE].max() >= sets.slots.shape[1] - 2 and sets.slots.shape[1] < most:
            sets = rounds.enlarged(sets, min(2 * sets.slots.shape[1], most))
    result = make_result(batch, sets.slots.shape[1], p)
    current(rounds.close)(sets, result)
    return result, answers


def chosen(answers: list[Tensor], started: Tensor | None, result: Result) -> Tensor:
    """Return the events ``(batch, k, *event)`` of the active sets, padded with -1.

    Args:
        answers: The events that the oracle returned, ``(batch, *event)`` for each round.
        started: The events of the start ``(batch, k, *event)``, or None.
        result: The active sets, cut to the largest one.
    """
    origins = torch.from_numpy(result.origins)
    earlier = [] if started is None else list(started.flip(1).unbind(1))
    every = torch.stack(earlier + answers)
    used = torch.arange(origins.shape[1]) < torch.from_numpy(result.sizes)[:, None]
    rows = torch.where(used, origins + len(earlier), 0).to(every.device)
    events = every[rows, torch.arange(len(rows), device=every.device)[:, None]]
    return torch.where(used.to(every.device).reshape(*used.shape, *(1,) * (events.dim() - 2)), events, -1)


def cut(result: Result) -> Result:
    """Trim the padding of active sets to the size of the largest one."""
    size = int(result.sizes.max(initial=1))
    return result._replace(
        parts=result.parts[:, :size], counts=result.counts[:, :size],
        origins=result.origins[:, :size], weights=result.weights[:, :size],
    )  # fmt: skip


def solution(main: Tensor, result: Result, events: Tensor, score: Callable[[Tensor], Tensor]) -> SparseMAP:
    """Return the result with marginals and weights that are differentiable any number of times.

    Args:
        main: Scores ``(batch, *parts)``.
        result: The active sets, cut to the largest one.
        events: Their structures, as events ``(batch, k, *event)``.
        score: Function of events ``(k, batch, *event)`` to scores ``(k, batch)``, differentiable.
    """
    batch, k, p = result.parts.shape
    device, dtype, exact = main.device, main.dtype, precise(main).dtype
    used = np.arange(k) < result.sizes[:, None]
    weights = torch.from_numpy(np.where(used, result.weights, 0.0)).to(device, exact)
    if may_differentiate():
        scores = precise(score(events.movedim(1, 0)).T)
        if carries_derivative(scores):
            scores = torch.where(torch.from_numpy(used).to(device), scores, 0.0)
            moves = response(result.parts, result.counts, result.sizes, main[0].numel()).to(device, exact)
            change = (moves @ (scores - scores.detach()).unsqueeze(-1)).squeeze(-1)
            weights = weights + change
    within = used[..., None] & (np.arange(p) < result.counts[..., None])
    places = torch.from_numpy(np.where(within, result.parts, 0).astype(np.int64)).to(device)
    shares = weights.unsqueeze(-1) * torch.from_numpy(within).to(device)
    flat = weights.new_zeros(batch, max(main[0].numel(), 1))
    marginals = flat.scatter_add(1, places.reshape(batch, -1), shares.reshape(batch, -1))[
        :, : main[0].numel()
    ]
    return SparseMAP(
        marginals.reshape(main.shape).to(dtype),
        weights.to(dtype),
        events,
        torch.from_numpy(result.phases == CONVERGED).to(device),
        torch.from_numpy(result.gaps).to(device, dtype),
        torch.from_numpy(result.calls).to(device),
    )


def warn_unless_converged(result: SparseMAP) -> None:
    """Warn about the items that did not converge, with their largest duality gap."""
    if not bool(result.status.all()):
        wrong = ~result.status
        gap, calls = result.gap[wrong].max().item(), result.iterations[wrong].max().item()
        warnings.warn(
            f"sparsemap stopped after {calls} steps with a duality gap of {gap:.2g} in {int(wrong.sum())} of "
            f"{len(wrong)} items; increase max_iterations",
            stacklevel=4,
        )
