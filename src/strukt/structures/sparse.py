"""SparseMAP of a structure, by its kernel or by its mode oracle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import fields

import numpy as np
import torch
from torch import Tensor

from strukt.checks import guards
from strukt.inference.conditional_gradient import METHODS, conditional_gradient
from strukt.inference.settings import require_iterations, require_tolerance
from strukt.inference.sparsemap import (
    MAX_ITERATIONS,
    SparseMAP,
    active_set,
    chosen,
    cut,
    solution,
    warn_unless_converged,
)
from strukt.kernels import dispatch
from strukt.kernels.arrays import Array
from strukt.kernels.sparsemap.result import Result, Settings, Start, listed, no_start
from strukt.kernels.sparsemap.state import INFEASIBLE
from strukt.kernels.undifferentiated import numpy_of, undifferentiated
from strukt.structures.exact import ExactInference

ACTIVE_SET = "active_set"
"""The name of the default method of `sparsemap`."""

LOOSEST = 1e100
"""Higher tolerances count as this one, whose square is finite: a search then stops at a structure, not before."""

MOST_SCORES_ON_GPU = 1 << 23
"""The largest number of scores of a batch for a search on a GPU, where one structure of each item takes 64 MB."""


def sparsemap(
    distribution: ExactInference,
    max_iterations: int | None,
    tol: float,
    method: str,
    start: SparseMAP | None,
) -> SparseMAP:
    """Return the SparseMAP of a distribution; see `StructuredDistribution.sparsemap` for the arguments."""
    if max_iterations is not None:
        require_iterations(max_iterations, "max_iterations")
    require_tolerance(tol)
    if method not in (ACTIVE_SET, *METHODS):
        raise ValueError(f"method is {method!r}; expected one of {', '.join((ACTIVE_SET, *METHODS))}")
    shape = distribution.scores[0].shape
    if start is not None and not isinstance(start, SparseMAP):
        raise ValueError(f"start is a {type(start).__name__}; expected an earlier result of sparsemap")
    if start is not None and start.marginals.shape != shape:
        raise ValueError(
            f"start has marginals of shape {tuple(start.marginals.shape)}; expected those of scores of shape "
            f"{tuple(shape)}"
        )
    closed = distribution._sparsemap_in_closed_form() if method == ACTIVE_SET else None
    if closed is not None:
        return _in_batch(distribution, closed)
    axis = len(distribution.batch_shape)
    initial = None if start is None else (_flat(start.events, axis), _flat(start.weights, axis))
    settings = Settings(max_iterations or MAX_ITERATIONS, min(float(tol), LOOSEST))
    flat = distribution._flatten()
    result = _solve(flat, settings, method, initial) if len(flat.lengths) else _nothing(flat)
    if max_iterations is None:
        warn_unless_converged(result)
    return _in_batch(distribution, result)


def _in_batch(distribution: ExactInference, flat: SparseMAP) -> SparseMAP:
    """Restore the batch axes of the distribution in a result with one batch axis, and record its class."""
    tensors = {
        field.name: distribution._to_batch(getattr(flat, field.name))
        for field in fields(flat)
        if field.name != "family"
    }
    return SparseMAP(**tensors, family=type(distribution))


def _flat(value: Tensor, axis: int) -> Tensor:
    """Merge the first ``axis`` axes of a tensor into one batch axis."""
    return value.reshape(-1, *value.shape[axis:])


def _nothing(flat: ExactInference) -> SparseMAP:
    """Return the result for a batch without items, with one batch axis."""
    main, none = flat.scores[0], flat.lengths
    events = none.new_zeros(0, 1, *flat.event_shape)
    return SparseMAP(main, main.new_zeros(0, 1), events, none.bool(), none.to(main.dtype), none)


def _solve(
    flat: ExactInference, settings: Settings, method: str, start: tuple[Tensor, Tensor] | None
) -> SparseMAP:
    """Solve SparseMAP for distributions with one batch axis, from initial events and weights; differentiable.

    On a GPU, the active-set method stays there for at most `MOST_SCORES_ON_GPU` scores, if a GPU kernel finds best
    structures. All other searches run on the CPU, because they consist of many short steps: scores are moved
    there, and the structures back.

    Args:
        flat: The distribution.
        settings: The largest number of calls of the mode oracle, and the tolerance.
        method: The name of the method.
        start: Events ``(batch, k, *event)`` and weights ``(batch, k)`` of an earlier result; None for none.
    """
    main = flat.scores[0]
    kept: list[Result] = []

    def search(*tensors: Tensor) -> tuple[Tensor]:
        count = len(flat.scores)
        structure = flat._with_scores(*tensors[:count])._in_double_precision()
        stays = method == ACTIVE_SET and not dispatch.is_for_cpu(main) and main.numel() <= MOST_SCORES_ON_GPU
        stays = stays and flat.oracles.has_gpu_kernel("best", *structure._arguments())
        structure = structure if stays else structure._on_cpu()
        begin = tuple(value.to(structure.scores[0].device) for value in tensors[count:])
        with nullcontext() if stays else dispatch.using_cpu():
            result, events = find(structure, settings, method, begin or None)  # type: ignore[arg-type]
        kept.append(result)
        return (events.to(main.device),)

    (events,) = undifferentiated(search, *flat.scores, *(start or ()))
    return solution(main, kept[0], events, flat._score)


def find(
    flat: ExactInference, settings: Settings, method: str, start: tuple[Tensor, Tensor] | None
) -> tuple[Result, Tensor]:
    """Return the active sets for scores in double precision, and their events ``(batch, k, *event)``.

    The arguments are those of `_solve`. Not differentiable.

    Raises:
        InfeasibleError: If every structure of some item is forbidden.
    """
    p = flat._most_parts
    begin = _start(flat, p, start)
    kernel = flat.oracles.kernel("sparsemap", *flat._arguments())
    if kernel is not None and method == ACTIVE_SET:
        result = cut(kernel(*flat._arguments(), begin, settings))
        events = flat._events_of_parts(result.parts, result.sizes)
    else:
        result, events = _ask(flat, p, begin, settings, method, None if start is None else start[0])
    guards.require_feasible(events, torch.from_numpy(np.where(result.phases == INFEASIBLE, -np.inf, 0.0)))
    return result, events


def events_of_parts(
    parts: Array, sizes: Array, event_shape: Sequence[int], alternatives: int, names: int
) -> Tensor:
    """Return the events ``(batch, k, *event)`` of structures given as lists of their parts.

    Args:
        parts: ``(batch, k, p)``, the flat indices of parts in the main scores of an item, padded with -1.
        sizes: ``(batch,)``, the number of structures of each item.
        event_shape: The shape of an event; entries without a part become -1.
        alternatives: The number of scores for each entry of an event.
        names: The number of values of an entry: its value is the index of the part modulo this number.
    """
    each, entries = torch.from_numpy(parts).long(), math.prod(event_shape)
    alternatives, names = max(alternatives, 1), max(names, 1)  # 0 where there is no part
    exists = torch.arange(each.shape[1])[:, None] < torch.from_numpy(sizes)[:, None, None]
    entry = torch.where(exists & (each >= 0), each // alternatives, entries)  # padding goes to an extra column
    events = torch.full((*each.shape[:2], entries + 1), -1).scatter(-1, entry, each % names)
    return events[..., :entries].reshape(*each.shape[:2], *event_shape)


def _ask(
    flat: ExactInference,
    p: int,
    begin: Start,
    settings: Settings,
    method: str,
    started: Tensor | None,
) -> tuple[Result, Tensor]:
    """Solve by calls of the mode oracle, without a kernel of SparseMAP; return the active sets and their events.

    ``p`` is the largest number of parts of a structure; ``begin`` holds the initial structures as lists of parts,
    and ``started`` their events, None for none.
    """
    main, *others = flat.scores

    def best(scores: Tensor) -> tuple[Tensor, Tensor]:
        events, values = flat.oracles.best(*flat._with_scores(scores, *others)._arguments())
        return events, values

    bare = flat._with_scores(torch.zeros_like(main), *others)
    arguments = (main, p, begin, settings, best, flat.to_parts, bare._score)
    result, answers = active_set(*arguments) if method == ACTIVE_SET else conditional_gradient(*arguments, method)
    result = cut(result)
    return result, chosen(answers, started, result)


def _start(flat: ExactInference, p: int, start: tuple[Tensor, Tensor] | None) -> Start:
    """Return the initial structures as lists of up to ``p`` parts; none if ``start`` is None.

    Events of ``start`` that are not structures of this distribution get the weight 0.
    """
    main, *others = flat.scores
    batch = len(main)
    if start is None:
        return no_start(batch, p)
    events, weights = start
    legal = flat.is_structure(events.movedim(1, 0)).movedim(0, 1)  # with other lengths, they may not be structures
    weights = torch.where(legal, weights, torch.zeros_like(weights))
    unused = (weights <= 0.0).reshape(*weights.shape, *(1,) * len(flat.event_shape))
    every = torch.where(unused, events[:, :1], events).movedim(1, 0)
    extra = flat._with_scores(torch.zeros_like(main), *others)._score(every).T
    used = flat.to_parts(every).movedim(1, 0).flatten(2).cpu().numpy() > 0
    return Start(*listed(used, p), numpy_of(extra), numpy_of(weights))
