"""Explanations of events of probability 0 in a batch; they name the item by its index."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from strukt.checks import guards
from strukt.kernels.semiring import NEG_INF
from strukt.structures.base import ScoredStructures

MOST_SHOWN = 12
"""The largest number of entries of an event that a message shows if it also has a reason, else it shows all."""


def require_structures(distribution: ScoredStructures, events: Tensor, valid: Tensor) -> None:
    """Raise an error unless all events are structures; ``valid`` is their mask, ``sample_shape + batch``.

    Raises:
        ValueError: If an event is not a structure; the message names the item and the reason.
    """
    if torch.compiler.is_compiling():
        return
    try:
        all_valid = bool(valid.all())
    except RuntimeError:  # tensors of torch.func.vmap, which hide their data
        every = events.expand(valid.shape + distribution.event_shape)
        guards.require_structures(every, valid, f"a structure of {distribution}")
        return
    if not all_valid:
        raise ValueError(_no_structure(distribution, events, valid))


def explain(distribution: ScoredStructures, events: Tensor) -> str | None:
    """Explain the first event that is not a structure, or else the first with a forbidden part.

    Return None if there is no such event.
    """
    valid = distribution.is_structure(events)
    if not bool(valid.all()):
        return _no_structure(distribution, events, valid)
    possible = distribution._score(events).detach() > NEG_INF
    if bool(possible.all()):
        return None
    place, item, event = _first(distribution, events, possible)
    reason = _forbidden(distribution, item, event) or "its score is -inf"
    return f"the event{place} has probability 0: {reason}"


def _no_structure(distribution: ScoredStructures, events: Tensor, valid: Tensor) -> str:
    """Return a sentence about the first event that is False in the mask ``valid``."""
    place, item, event = _first(distribution, events, valid)
    constants = [constant[item].tolist() for constant in distribution.constants]
    reason = distribution._fault(event.tolist(), int(distribution.lengths[item]), constants)
    numbers = event.flatten().tolist()
    shown = f" {numbers}" if len(numbers) <= MOST_SHOWN or reason is None else ""
    return f"the event{shown}{place} is not a structure of {distribution}" + (f": {reason}" if reason else "")


def _first(
    distribution: ScoredStructures, events: Tensor, passes: Tensor
) -> tuple[str, tuple[int, ...], Tensor]:
    """Return the first event that is False in the mask ``passes``, ``sample_shape + batch``.

    Returns:
        A phrase that names its sample and its item, such as " of batch item 3"; the index of the item; the event.
    """
    index = tuple((~passes).nonzero()[0].tolist())
    axis = len(index) - len(distribution.batch_shape)
    sample, item = index[:axis], index[axis:]
    places = [f"{name} {_number(at)}" for name, at in (("sample", sample), ("batch item", item)) if at]
    event = events.expand(passes.shape + distribution.event_shape)[index]
    return (f" of {', '.join(places)}" if places else ""), item, event


def _number(index: tuple[int, ...]) -> str:
    return str(index[0]) if len(index) == 1 else str(index)


def _forbidden(distribution: ScoredStructures, item: tuple[int, ...], event: Tensor) -> str | None:
    """Return a clause that names a part with score -inf that an event of one item uses; None if there is none.

    ``item`` is the index of the item, with a number for each batch axis.
    """
    place = 0
    for number, size in zip(item, distribution.batch_shape, strict=True):
        place = place * size + number
    with torch.inference_mode(False):  # in inference mode, no score could have a gradient
        flat = distribution._flatten()
        chosen: list[Any] = [
            value[place if len(value) > 1 else 0].detach().clone().unsqueeze(0)
            for value in (*flat.scores, flat.lengths, *flat.constants)
        ]
        count = len(flat.scores)
        one = distribution._rebuilt(tuple(chosen[:count]), chosen[count], tuple(chosen[count + 1 :]))
        return one._forbidden(event.clone().unsqueeze(0))


def forbidden_part(distribution: ScoredStructures, event: Tensor) -> str | None:
    """Return a clause that names the first part with score -inf that an event uses; None if there is none.

    The gradient of the event's score shows which parts it uses.

    Args:
        distribution: The distribution of one item, with a batch axis.
        event: An event with one batch axis.
    """
    with torch.enable_grad():
        free = tuple(torch.zeros_like(score).requires_grad_() for score in distribution.scores)
        score = distribution._with_scores(*free)._score(event).sum()
        used = torch.autograd.grad(score, free, allow_unused=True, materialize_grads=True)
    for name, values, uses, extents in zip(
        distribution.score_names, distribution.scores, used, distribution.extents, strict=True
    ):
        hits = ((uses != 0) & (values == NEG_INF)).nonzero()
        if len(hits):
            part = tuple(hits[0, values.dim() - len(extents) :].tolist())
            return f"{distribution._part_name(name, part)} is -inf"
    return None
