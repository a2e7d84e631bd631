"""SparseMAP: the point of a marginal polytope nearest to the scores, from the mode oracle alone.

    argmax over mu in M of  <scores, mu> - 1/2 ||mu||^2        (Niculae et al. 2018, equation 5)

The solution is a convex combination of few structures, found by an active set (`strukt.kernels.sparsemap`), or for
comparison by `strukt.inference.conditional_gradient`. Its derivative needs these structures only, whatever found
them: on their affine hull the solution is a linear function of their scores (equation 9).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from strukt.kernels.interpreted import current
from strukt.kernels.jit import over_batch, thread_count
from strukt.kernels.semiring import precise
from strukt.kernels.sparsemap import rounds
from strukt.kernels.sparsemap.found import Found, Settings, Start, capacity, make_found
from strukt.kernels.sparsemap.products import response
from strukt.kernels.sparsemap.state import CONVERGED, SIZE, make
from strukt.kernels.undifferentiated import carries_derivative, numpy_of
from strukt.shown import Shown

MAX_ITERATIONS = 1000
"""Calls of the mode oracle for an item, where no other bound is given."""

TOL = 1e-9
"""The error in the marginals at which to stop."""

Best = Callable[[Tensor], tuple[Tensor, Tensor]]
"""The mode oracle: scores ``(batch, *parts)`` to events ``(batch, *event)`` and their scores, -inf without one."""


@dataclass(frozen=True)
class SparseMAP(Shown):
    """Sparse marginals and the structures that carry them. Notebooks draw these with their weights.

    Attributes:
        marginals: The shape of the main scores; differentiable.
        weights: ``batch + (k,)``, probabilities of the structures; differentiable. 0 where an item needs fewer,
            and for structures that tie with the others: they say how the solution moves, but are not needed to
            carry it.
        events: ``batch + (k,) + event_shape``; -1 where an item needs fewer.
        status: ``batch``, whether the solution is as exact as was asked for, or as rounding allows.
        gap: ``batch``, the duality gap: at least half the squared error of the marginals.
        iterations: ``batch``, calls of the mode oracle.
        family: The class of the distribution, which tells how its structures are drawn, if they are of one.
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
) -> tuple[Found, list[Tensor]]:  # fmt: skip
    """The active sets of a batch, side by side, for an oracle that answers all items in one call.

    Args:
        main: Scores ``(batch, *parts)`` in double precision.
        p: The largest number of parts in a structure.
        start: Structures to begin with.
        settings: How long to look.
        best: The mode oracle.
        to_parts: Events ``(batch, *event)`` to 0/1 parts ``(batch, *parts)``.
        extra: What events ``(batch, *event)`` score beyond their parts, ``(batch,)``.

    Returns:
        What was found, and the oracle's answers.
    """
    batch, d = len(main), main[0].numel()
    most = capacity(d, start, settings)
    sets = current(make)(batch, d, p, min(rounds.FIRST_ROOM + start.weights.shape[1], most))
    current(rounds.begin)(main.reshape(batch, d).cpu().numpy(), start, sets)
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
    found = make_found(batch, sets.slots.shape[1], p)
    current(rounds.close)(sets, found)
    return found, answers


def chosen(answers: list[Tensor], started: Tensor | None, found: Found) -> Tensor:
    """The events ``(batch, k, *event)`` that were found, -1 beyond the last.

    Args:
        answers: The oracle's, each ``(batch, *event)``.
        started: The events to begin with ``(batch, k, *event)``, if there were any.
        found: What was found, cut to the largest size.
    """
    origins = torch.from_numpy(found.origins)
    given = [] if started is None else list(started.flip(1).unbind(1))
    every = torch.stack(given + answers)
    used = torch.arange(origins.shape[1]) < torch.from_numpy(found.sizes)[:, None]
    rows = torch.where(used, origins + len(given), 0).to(every.device)
    events = every[rows, torch.arange(len(rows), device=every.device)[:, None]]
    return torch.where(used.to(every.device).reshape(*used.shape, *(1,) * (events.dim() - 2)), events, -1)


def cut(found: Found) -> Found:
    """Without the room that no item needed."""
    size = int(found.sizes.max(initial=1))
    return found._replace(
        parts=found.parts[:, :size], counts=found.counts[:, :size],
        origins=found.origins[:, :size], weights=found.weights[:, :size],
    )  # fmt: skip


def solution(main: Tensor, found: Found, events: Tensor, score: Callable[[Tensor], Tensor]) -> SparseMAP:
    """Marginals and weights with their derivatives, any number of them.

    Args:
        main: Scores ``(batch, *parts)``.
        found: The structures, cut to the largest size.
        events: The same as events ``(batch, k, *event)``.
        score: Scores of events ``(k, batch, *event)``: ``(k, batch)``, differentiable.
    """
    batch, k, p = found.parts.shape
    device, dtype, exact = main.device, main.dtype, precise(main).dtype
    used = np.arange(k) < found.sizes[:, None]
    weights = torch.from_numpy(np.where(used, found.weights, 0.0)).to(device, exact)
    if torch.is_grad_enabled():
        scores = precise(score(events.movedim(1, 0)).T)
        if carries_derivative(scores):
            scores = torch.where(torch.from_numpy(used).to(device), scores, 0.0)
            moves = response(found.parts, found.counts, found.sizes, main[0].numel()).to(device, exact)
            change = (moves @ (scores - scores.detach()).unsqueeze(-1)).squeeze(-1)
            weights = weights + change
    within = used[..., None] & (np.arange(p) < found.counts[..., None])
    places = torch.from_numpy(np.where(within, found.parts, 0).astype(np.int64)).to(device)
    shares = weights.unsqueeze(-1) * torch.from_numpy(within).to(device)
    flat = weights.new_zeros(batch, max(main[0].numel(), 1))
    marginals = flat.scatter_add(1, places.reshape(batch, -1), shares.reshape(batch, -1))[
        :, : main[0].numel()
    ]
    return SparseMAP(
        marginals.reshape(main.shape).to(dtype),
        weights.to(dtype),
        events,
        torch.from_numpy(found.phases == CONVERGED).to(device),
        torch.from_numpy(found.gaps).to(device, dtype),
        torch.from_numpy(found.calls).to(device),
    )


def warn_unless_converged(result: SparseMAP) -> None:
    """Say how far off the items are that did not converge."""
    if not bool(result.status.all()):
        wrong = ~result.status
        gap, calls = result.gap[wrong].max().item(), result.iterations[wrong].max().item()
        warnings.warn(
            f"sparsemap stopped after {calls} steps with a duality gap of {gap:.2g} in {int(wrong.sum())} of "
            f"{len(wrong)} items; give a larger max_iterations",
            stacklevel=4,
        )
