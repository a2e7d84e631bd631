"""Checks of values that raise from inside an operator, so that they also work under ``torch.func.vmap``.

They read data, which a traced program cannot branch on: a graph that ``torch.compile`` makes leaves them out.
"""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.errors import InfeasibleError
from strukt.kernels.autograd import constant_function


def _items(mask: Tensor) -> str:
    """The first batch items for which a mask holds, as text."""
    found = mask.nonzero().flatten().tolist()
    return ", ".join(map(str, found[:5])) + (f" and {len(found) - 5} more" if len(found) > 5 else "")


@torch.library.custom_op("strukt::require_feasible", mutates_args=())
def _require_feasible(events: Tensor, scores: Tensor) -> Tensor:
    infeasible = scores == -torch.inf
    if bool(infeasible.any()):
        raise InfeasibleError(
            f"every structure is forbidden for batch item {_items(infeasible)}: "
            "there is nothing to choose or to sample; allow more parts, or look at log_partition first"
        )
    return events.clone()


@torch.library.custom_op("strukt::require_scores", mutates_args=())
def _require_scores(scores: Tensor, lengths: Tensor, extents: list[int], name: str) -> Tensor:
    top = scores.numpy().max(initial=-torch.inf) if scores.device.type == "cpu" else scores.amax()
    if not top < torch.inf:
        wrong = ~(scores < torch.inf) & within(lengths, scores.shape[1:], extents)
        if bool(wrong.any()):
            index = tuple(wrong.nonzero()[0].tolist())
            raise ValueError(
                f"{name} holds {scores[index].item()} at batch item {index[0]}, position {index[1:]}; "
                "scores must be finite, or -inf for a forbidden part"
            )
    return scores.new_empty(len(scores))


@torch.library.custom_op("strukt::require_lengths", mutates_args=())
def _require_lengths(lengths: Tensor, longest: int) -> Tensor:
    wrong = (lengths < 0) | (lengths > longest)
    if bool(wrong.any()):
        raise ValueError(
            f"lengths must lie between 0 and {longest}, the length of the scores; "
            f"got {lengths[wrong][0].item()} for batch item {_items(wrong)}"
        )
    return lengths.clone()


@torch.library.custom_op("strukt::require_structures", mutates_args=())
def _require_structures(events: Tensor, valid: Tensor, kind: str) -> Tensor:
    if not bool(valid.all()):
        wrong = events.reshape(valid.numel(), -1)[~valid.reshape(-1)][0].tolist()
        raise ValueError(f"the event {wrong} is not {kind}")
    return valid.clone()


_require_feasible.register_fake(lambda events, scores: torch.empty_like(events))
_require_scores.register_fake(lambda scores, lengths, extents, name: scores.new_empty(len(scores)))
_require_lengths.register_fake(lambda lengths, longest: torch.empty_like(lengths))
_require_structures.register_fake(lambda events, valid, kind: torch.empty_like(valid))

_feasible, _scores, _lengths, _structures = (
    constant_function(getattr(torch.ops.strukt, name).default)
    for name in ("require_feasible", "require_scores", "require_lengths", "require_structures")
)


def require_feasible(events: Tensor, scores: Tensor) -> None:
    """Raise InfeasibleError if the best score ``(batch,)`` of some item is -inf."""
    if not torch.compiler.is_compiling():
        _feasible.apply(events, scores)


def require_scores(scores: Tensor, lengths: Tensor, extents: list[int], name: str) -> None:
    """Raise ValueError for NaN and +inf within the lengths; ``extents`` as in `within`."""
    if not torch.compiler.is_compiling():
        _scores.apply(scores, lengths, extents, name)


def require_lengths(lengths: Tensor, longest: int) -> None:
    """Raise ValueError for a length out of range."""
    if not torch.compiler.is_compiling():
        _lengths.apply(lengths, longest)


def require_structures(events: Tensor, valid: Tensor, kind: str) -> None:
    """Raise ValueError if some event is not ``valid``, that is, not of this kind."""
    if not torch.compiler.is_compiling():
        _structures.apply(events, valid, kind)


UNBOUNDED = 1 << 40
"""The extent of an axis that does not grow with the length."""


def within(lengths: Tensor, shape: torch.Size, extents: list[int]) -> Tensor:
    """Which parts lie within the lengths: on axis a those with index < length + ``extents[a]``.

    Args:
        lengths: ``(batch,)``.
        shape: The shape of the parts, without the batch.
        extents: One number for each axis of ``shape``; `UNBOUNDED` for all of it.

    Returns:
        Booleans that broadcast to ``(batch, *shape)``.

    Example:
        >>> within(torch.tensor([2, 1]), torch.Size([2, 3]), [0, UNBOUNDED])[..., 0]
        tensor([[ True,  True],
                [ True, False]])
    """
    inside = torch.ones((len(lengths), *(1,) * len(shape)), dtype=torch.bool, device=lengths.device)
    for axis, (size, extent) in enumerate(zip(shape, extents, strict=True)):
        if extent != UNBOUNDED:
            index = torch.arange(size, device=lengths.device)
            row = index < (lengths + extent).unsqueeze(-1)
            inside = inside & row.view(len(lengths), *(1,) * axis, size, *(1,) * (len(shape) - axis - 1))
    return inside
