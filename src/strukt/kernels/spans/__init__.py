"""Binary trees over spans, read from their squares of labels."""

from __future__ import annotations

from torch import Tensor

from strukt.kernels import dispatch
from strukt.kernels.autograd import is_plain
from strukt.kernels.spans import reference


def read(events: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the spans of trees in the order of their starts, then ends; time O(n^2) an item.

    Args:
        events: ``(batch, n + 1, n + 1)``: the label of each span, negative elsewhere.
        lengths: ``(batch,)``.

    Returns:
        The places of the spans in the flattened square ``(batch, 2 n)``, -1 behind the last one; their labels, 0
        behind the last one; and which items are binary trees, ``(batch,)``.

    Examples:
        >>> import torch
        >>> events = torch.full((1, 3, 3), -1)
        >>> events[0, 0, 1], events[0, 0, 2], events[0, 1, 2] = 5, 6, 7
        >>> read(events, torch.tensor([2]))
        (tensor([[ 1,  2,  5, -1]]), tensor([[5, 6, 7, 0]]), tensor([True]))
    """
    kernels = dispatch.select("spans", events) if is_plain() else None
    return (kernels or reference).read(events, lengths)  # type: ignore[no-any-return]


__all__ = ["read"]
