"""Checks of values. Under ``torch.func.vmap`` they run inside a custom operator, which can read the data.

They branch on data, which a traced program cannot do, so ``torch.compile`` omits them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from strukt.errors import InfeasibleError, OutOfRangeError
from strukt.kernels.autograd import call
from strukt.kernels.functions import constant_function
from strukt.kernels.operator import define

LARGEST = 1e15
"""The largest score allowed: float64 has too few fractional digits for larger ones to distinguish structures. A
score below ``-LARGEST`` forbids a part."""

ASYMMETRY = 1e-4
"""Tolerance for the asymmetry of the kernel of a determinantal point process: the largest difference between
mirrored entries, relative to the largest absolute entry."""

NEGATIVITY = 10.0
"""Tolerance for negative eigenvalues of such a kernel ``(n, n)``, as a multiple of machine epsilon times n times
its largest absolute eigenvalue."""


def _items(mask: Tensor) -> str:
    """Return the indices of the batch items for which a mask is True, as text; at most five, and how many more."""
    items = mask.nonzero().flatten().tolist()
    return ", ".join(map(str, items[:5])) + (f" and {len(items) - 5} more" if len(items) > 5 else "")


def _check_feasible(_events: Tensor, scores: Tensor) -> None:
    """Check best scores; see `require_feasible`."""
    infeasible = scores == -torch.inf
    if bool(infeasible.any()):
        raise InfeasibleError(
            f"every structure is forbidden for batch item {_items(infeasible)}, so there is no mode or sample; "
            "allow more parts, or check log_partition first"
        )


def _check_scores(scores: Tensor, lengths: Tensor, extents: list[int], name: str) -> None:
    """Check scores; see `require_scores`."""
    if not scores.numel() or bool(scores.amax() <= LARGEST):
        return
    wrong = ~(scores <= LARGEST) & within(lengths, scores.shape[1:], extents)
    if bool(wrong.any()):
        index = tuple(wrong.nonzero()[0].tolist())
        raise OutOfRangeError(
            f"{name} holds {scores[index].item()} at batch item {index[0]}, position {index[1:]}; "
            f"expected numbers up to {LARGEST:.0e}, or -inf for a forbidden part"
        )


def _check_lengths(lengths: Tensor, longest: int, name: str = "lengths") -> None:
    """Check lengths; see `require_lengths`."""
    if not lengths.numel():
        return
    least, most = lengths.aminmax()
    if least.item() < 0 or most.item() > longest:
        wrong = (lengths < 0) | (lengths > longest)
        raise ValueError(
            f"{name} holds {lengths[wrong][0].item()} for batch item {_items(wrong)}; expected 0 to {longest}"
        )


def _check_prefixes(mask: Tensor) -> None:
    """Check that a mask has no holes; see `require_prefixes`."""
    wrong = (mask != 0) & (mask != 1)
    if bool(wrong.any()):
        item, position = wrong.nonzero()[0].tolist()
        raise ValueError(
            f"mask holds {mask[item, position].item()} at batch item {item}, position {position}; "
            "expected Booleans, or integers 0 and 1"
        )
    holes = mask[:, 1:].bool() & ~mask[:, :-1].bool()
    if bool(holes.any()):
        item, before = holes.nonzero()[0].tolist()
        raise ValueError(
            f"mask of batch item {item} has a hole: it is 0 at position {before} and 1 at position {before + 1}; "
            "expected ones, then zeros. Remove the masked positions, or move the padding to the end"
        )


def _check_values(values: Tensor, valid: Tensor, name: str, expected: str, batch_axes: int = 1) -> None:
    """Check values by the mask of those that are valid; see `require_values`."""
    if not bool(valid.all()):
        index = tuple((~valid).nonzero()[0].tolist())
        axes = ("batch item", index[:batch_axes]), ("position", index[batch_axes:])
        place = ", ".join(f"{kind} {_number(part)}" for kind, part in axes if part)
        error = ValueError if bool(values[index].isfinite()) else OutOfRangeError
        verb, where = ("holds", f" at {place}") if place else ("is", "")
        raise error(f"{name} {verb} {values[index].item()}{where}; expected {expected}")


def _number(index: tuple[int, ...]) -> str:
    """Return an index as text, without round brackets if it has a single axis."""
    return str(index[0]) if len(index) == 1 else str(index)


def _check_structures(events: Tensor, valid: Tensor, kind: str) -> None:
    """Check events by the mask of those that are valid; see `require_structures`."""
    if not bool(valid.all()):
        _, *index = (~valid).nonzero()[0].tolist()  # the first axis is added by the caller
        wrong = events.reshape(valid.numel(), -1)[~valid.reshape(-1)][0].tolist()
        place = f" at index {index[0] if len(index) == 1 else tuple(index)}" if index else ""
        raise ValueError(f"the event {wrong}{place} is not {kind}")


def _check_sizes(low: Tensor, high: Tensor) -> None:
    """Check ranges of sizes; see `require_sizes`."""
    wrong = (low < 0) | (high < low)
    if bool(wrong.any()):
        raise ValueError(
            f"k allows sizes from {low[wrong][0].item()} to {high[wrong][0].item()} for batch item "
            f"{_items(wrong)}; expected 0 <= smallest <= largest"
        )


def _check_kernels(kernels: Tensor, lengths: Tensor) -> None:
    """Check the kernels of determinantal point processes; see `require_kernels`."""
    used = torch.where(within(lengths, kernels.shape[1:], [0, 0]), kernels, torch.zeros_like(kernels))
    if not used.numel():
        return
    wrong = ~used.isfinite()
    if bool(wrong.any()):
        index = tuple(wrong.nonzero()[0].tolist())
        raise ValueError(
            f"kernel holds {used[index].item()} at batch item {index[0]}, position {index[1:]}; "
            "expected finite numbers"
        )
    largest = used.abs().flatten(1).amax(1)
    used = used / torch.where(largest > 0, largest, 1.0)[:, None, None]  # sums of huge entries would overflow
    wrong = (used - used.mT).abs().flatten(1).amax(1) > ASYMMETRY
    if bool(wrong.any()):
        raise ValueError(
            f"kernel is not symmetric for batch item {_items(wrong)}; expected a symmetric positive semidefinite "
            "matrix, e.g. (kernel + kernel.mT) / 2"
        )
    eigenvalues = torch.linalg.eigvalsh((used + used.mT) / 2)
    rounding = NEGATIVITY * used.shape[1] * torch.finfo(used.dtype).eps
    wrong = eigenvalues[:, 0] < -rounding * eigenvalues.abs().amax(1)
    if bool(wrong.any()):
        least = (largest * eigenvalues[:, 0])[wrong][0].item()
        raise ValueError(
            f"kernel has the eigenvalue {least:.3g} for batch item {_items(wrong)}; expected a symmetric positive "
            "semidefinite matrix, e.g. features @ features.mT"
        )


def _check_equal(mine: Tensor, theirs: Tensor, name: str) -> None:
    """Check that two distributions have the same set of structures; see `require_equal`."""
    wrong = (mine != theirs).unsqueeze(-1).flatten(1).any(1)
    if bool(wrong.any()):
        raise ValueError(
            f"other differs from this distribution in {name} for batch item {_items(wrong)}: distributions over "
            "different sets of structures cannot be compared"
        )


def _guard(name: str, schema: str, check: Callable[..., None]) -> Callable[..., None]:
    """Return a check that runs directly, or inside a custom operator where tensors hide their data.

    Args:
        name: The name of the operator.
        schema: The types of the operator's arguments and of its result, an empty tensor.
        check: The function that raises an error if an argument is wrong.
    """

    def body(*arguments: Any) -> Tensor:
        check(*arguments)
        first: Tensor = arguments[0]
        return first.new_empty(len(first))  # an operator must return a tensor

    operator = constant_function(define(name, schema, body))

    def guard(*arguments: Any) -> None:
        if torch.compiler.is_compiling():
            return
        try:
            check(*arguments)
        except RuntimeError:  # tensors of torch.func.vmap, which hide their data
            call(operator, *arguments)

    return guard


require_feasible = _guard("require_feasible", "(Tensor events, Tensor scores) -> Tensor", _check_feasible)
"""``(events, scores)``: raise InfeasibleError if a best score ``(batch,)`` is -inf; the events are not read."""

require_scores = _guard(
    "require_scores", "(Tensor scores, Tensor lengths, int[] extents, str name) -> Tensor", _check_scores
)
"""``(scores, lengths, extents, name)``: raise OutOfRangeError if a score ``(batch, *shape)`` within the lengths
``(batch,)`` is NaN, +inf or above `LARGEST`; the extents are those of `within`."""

require_lengths = _guard(
    "require_lengths", "(Tensor lengths, int longest, str name='lengths') -> Tensor", _check_lengths
)
"""``(lengths, longest, name)``: raise ValueError if a length ``(batch,)`` is not between 0 and ``longest``."""

require_prefixes = _guard("require_prefixes", "(Tensor mask) -> Tensor", _check_prefixes)
"""``(mask,)``: raise ValueError unless each row of a mask ``(batch, n)`` is ones followed by zeros."""

require_values = _guard(
    "require_values",
    "(Tensor values, Tensor valid, str name, str expected, int batch_axes=1) -> Tensor",
    _check_values,
)
"""``(values, valid, name, expected, batch_axes=1)``: raise an error if the mask ``valid`` is False for a value.

The mask has the shape of the values, of which the first ``batch_axes`` axes are batch axes. The message says that
``name`` holds the value, and what is expected. The error is OutOfRangeError for NaN and infinity, and ValueError
for other numbers.
"""

_require_structures = _guard(
    "require_structures", "(Tensor events, Tensor valid, str kind) -> Tensor", _check_structures
)


def require_structures(events: Tensor, valid: Tensor, kind: str) -> None:
    """Raise ValueError if an event is not valid.

    Args:
        events: The events, of shape ``valid.shape + event_shape``.
        valid: A mask of the valid events, with any axes.
        kind: The end of the message "the event ... is not ...".
    """
    _require_structures(events.unsqueeze(0), valid.unsqueeze(0), kind)  # an operator needs a batch axis


require_sizes = _guard("require_sizes", "(Tensor low, Tensor high) -> Tensor", _check_sizes)
"""``(low, high)``, ``(batch,)`` each: raise ValueError unless 0 <= low <= high."""

require_kernels = _guard("require_kernels", "(Tensor kernels, Tensor lengths) -> Tensor", _check_kernels)
"""``(kernels, lengths)``: raise ValueError unless the first ``lengths[b]`` rows and columns of each kernel b are
finite, symmetric and positive semidefinite, up to `ASYMMETRY` and `NEGATIVITY`. The kernels are
``(batch, n, n)``, and the lengths ``(batch,)``."""

require_equal = _guard("require_equal", "(Tensor mine, Tensor theirs, str name) -> Tensor", _check_equal)
"""``(mine, theirs, name)``: raise ValueError if two tensors ``(batch, ...)`` that determine the set of structures
differ."""

UNBOUNDED = 1 << 40
"""The entry of ``extents`` in `ScoredStructures` for an axis whose size does not depend on the length, such as
that of tags."""

ONWARD = -(1 << 40)
"""The entry of ``extents`` in `ScoredStructures` for an axis of offsets from the last bounded axis before it, such
as durations after start positions."""


def within(lengths: Tensor, shape: torch.Size, extents: list[int]) -> Tensor:
    """Return a mask of the parts whose index is below length + ``extents[a]`` on each axis a.

    Args:
        lengths: ``(batch,)``, the length of each item.
        shape: The shape of the parts, without the batch axis.
        extents: For each axis of ``shape``, the bound of its index minus the length. `UNBOUNDED` for an axis
            without a bound; `ONWARD` for an axis whose index is added to that of the last bounded axis, and the
            sum has the bound of that axis.

    Returns:
        Booleans that broadcast to ``(batch, *shape)``.

    Examples:
        >>> within(torch.tensor([2, 1]), torch.Size([2, 3]), [0, UNBOUNDED])[..., 0]
        tensor([[ True,  True],
                [ True, False]])
        >>> within(torch.tensor([2]), torch.Size([2, 3]), [0, ONWARD])
        tensor([[[ True,  True, False],
                 [ True, False, False]]])
    """
    every = (len(lengths), *(1,) * len(shape))
    inside = torch.ones(every, dtype=torch.bool, device=lengths.device)
    place, limit = lengths.new_zeros(()), lengths
    for axis, (size, extent) in enumerate(zip(shape, extents, strict=True)):
        if extent == UNBOUNDED:
            continue
        index = torch.arange(size, device=lengths.device).view(size, *(1,) * (len(shape) - axis - 1))
        if extent == ONWARD:
            place = place + index
        else:
            place, limit = index, lengths + extent
        inside = inside & (place < limit.view(every))
    return inside
