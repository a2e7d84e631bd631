"""Moves out of the nodes of a lattice: their scores from targets, and the frames of labels."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.checks import arguments
from strukt.checks.lengths import Lengths
from strukt.structures import events
from strukt.structures.ctc.states import states_of
from strukt.structures.events import shifted
from strukt.structures.transducer.reference import BLANK, LABEL


def moves_of_labels(
    logits: Tensor, targets: Tensor, target_lengths: Lengths | None, blank: int, validate_args: bool | None = None
) -> Tensor:
    """Return the scores of blank and next label of the target at each node: ``batch + (n, m + 1, 2)``.

    Args:
        logits: ``batch + (n, m + 1, c)``.
        targets: ``batch + (m,)``; padding is ignored.
        target_lengths: ``batch``; all m if None.
        blank: The blank, one of the c labels.
        validate_args: Whether to check values as well as shapes.

    Raises:
        ValueError: If they do not fit.

    Complexity: O(n m), independent of c.
    """
    index = labels_of_nodes(logits.shape, logits.device, targets, target_lengths, blank, validate_args)
    return logits.gather(-1, index.unsqueeze(-3).expand(*logits.shape[:-1], 2))


def labels_of_nodes(
    shape: torch.Size, device: torch.device, targets: Tensor, target_lengths: Lengths | None, blank: int,
    validate_args: bool | None,
) -> Tensor:  # fmt: skip
    """Return, for each u, the blank and the label that follows u labels: ``batch + (m + 1, 2)``.

    After the target the blank stands in for the label. The arguments are checked; their values only if
    ``validate_args`` is not False, or on the CPU. ``shape`` and ``device`` are those of the logits; for the others
    see `moves_of_labels`.

    Raises:
        ValueError: If the arguments do not fit logits of shape ``batch + (n, m + 1, c)``.
    """
    *batch, _, columns, labels = shape
    arguments.blank(blank, labels)
    arguments.integers("targets", targets, "batch + (m,)", device)
    if targets.shape != (*batch, columns - 1):
        raise ValueError(
            f"targets has shape {tuple(targets.shape)}; expected {(*batch, columns - 1)}, a label for each of "
            f"the {columns} nodes of a frame but the last"
        )
    check = validate_args is not False
    lengths = arguments.lengths(target_lengths, torch.Size(batch), columns - 1, device, "target_lengths", check)
    states = states_of(targets, lengths, blank, labels, check or device.type == "cpu")
    return torch.nn.functional.pad(states, (0, 1), value=blank).view(*batch, columns, 2)


def frames_of_labels(event: Tensor) -> Tensor:
    """Return the frame at which moves ``(*, n, m + 1)`` emit each label: ``(*, m)``, -1 for none.

    Examples:
        >>> frames_of_labels(torch.tensor([[1, 0, -1], [-1, 1, 0]]))
        tensor([0, 1])
    """
    emits = event[..., :-1] == LABEL
    if not emits.shape[-2]:
        return emits.long().sum(-2) - 1
    return torch.where(emits.any(-2), emits.long().argmax(-2), -1)


def are_emissions(event: Tensor, lengths: Tensor, target_lengths: Tensor) -> Tensor:
    """Return a mask ``(rows,)`` of moves ``(rows, n, m + 1)``, -1 for none, that are complete paths; time O(n m).

    In a path, each node but the first is visited if and only if a move leads to it, and each move leads to a node,
    except the blank out of the last one.

    Examples:
        >>> events = torch.tensor([[[1, 0], [-1, 0]], [[0, -1], [0, -1]]])
        >>> are_emissions(events, torch.tensor([2, 2]), torch.tensor([1, 1]))
        tensor([ True, False])
    """
    nodes = events.cells_within(event.shape[-2:], lengths, target_lengths + 1)
    named = (((event >= -1) & (event <= LABEL)) | ~nodes).flatten(-2).all(-1)
    row, column = (torch.arange(size, device=event.device) for size in event.shape[-2:])
    is_first = (row[:, None] == 0) & (column == 0)
    is_last_frame = row[:, None] == lengths[:, None, None] - 1
    is_last_label = column == target_lengths[:, None, None]
    blank, label = nodes & (event == BLANK), nodes & (event == LABEL)
    leads_out = (blank & is_last_frame & ~is_last_label) | (label & is_last_label)
    reached = shifted(blank & ~is_last_frame, -1, 0) | shifted(label, 0, -1) | (is_first & nodes)
    right = ~leads_out & (reached == (blank | label))
    return named & right.flatten(-2).all(-1) & ((lengths > 0) | (target_lengths == 0))
