"""Monotone alignments, CTC and transducers (RNN-T) as subjects of the conformance suite."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.distributions import CTC, MonotoneAlignment, Transducer
from strukt.testing import brute_force
from strukt.testing.brute_force import Table
from strukt.testing.subject import Subject
from strukt.testing.subjects.scores import LABELS, draws


def _frames(length: int, logits: Tensor) -> tuple[Tensor]:
    """Return a mask of the logits of frames within the length."""
    return ((torch.arange(logits.shape[0]) < length)[:, None].expand(logits.shape),)


def _ctc(name: str, target: tuple[int, ...], blank: int, spare: int) -> Subject:
    """Return CTC as a subject; targets are cut to fit short items: one frame for the first label, two for others.

    Args:
        name: The name of the subject.
        target: The labels of the target.
        blank: The blank label.
        spare: The number of frames of an item that are left out of this count.
    """

    def make(logits: Tensor, lengths: Tensor | None = None, validate_args: bool | None = None) -> CTC:
        batch = logits.shape[:-2]
        frames = torch.full(batch, logits.shape[-2]) if lengths is None else lengths
        targets = torch.tensor(target, device=logits.device).expand(*batch, len(target))
        fitting = ((frames + 1 - spare) // 2).clamp(max=len(target))
        return CTC(logits, targets, lengths, fitting, blank, validate_args)

    def enumerate_(length: int, logits: Tensor) -> Table:
        return brute_force.ctc(length, logits, target[: (length + 1 - spare) // 2], blank)

    return Subject(
        name,
        make,
        enumerate_,
        draws(lambda n: (n, LABELS)),
        {"logits": 2},
        free=frozenset({"logits"}),
        within=_frames,
    )


def _square(
    moves: Tensor, lengths: Tensor | None = None, validate_args: bool | None = None
) -> MonotoneAlignment:
    """Return alignments of two sequences of equal lengths, without transition scores."""
    return MonotoneAlignment.from_moves(moves, None, lengths, lengths, validate_args)


def _all_of_square(length: int, moves: Tensor) -> Table:
    return brute_force.monotone_alignment(length, length, moves, moves.new_zeros(3, 3))


def _oblong(
    moves: Tensor, transition: Tensor, lengths: Tensor | None = None, validate_args: bool | None = None
) -> MonotoneAlignment:
    """Return alignments with transition scores; the second sequence has `_columns` of the first one's length."""
    rows = torch.full(moves.shape[:-3], moves.shape[-3]) if lengths is None else lengths
    return MonotoneAlignment.from_moves(moves, transition, lengths, _columns(rows), validate_args)


def _all_of_oblong(length: int, moves: Tensor, transition: Tensor) -> Table:
    return brute_force.monotone_alignment(length, int(_columns(torch.tensor(length))), moves, transition)


def _columns(rows: Tensor) -> Tensor:
    """Return one less than the number of rows; for 0 or 1 rows, the same number."""
    return torch.where(rows > 1, rows - 1, rows)


def _cells(length: int, moves: Tensor, transition: Tensor) -> tuple[Tensor, Tensor]:
    """Return masks of the moves in cells within the lengths, and of all transition scores."""
    n, m, _ = moves.shape
    cells = (torch.arange(n) < length)[:, None] & (torch.arange(m) < _columns(torch.tensor(length)))
    return cells.unsqueeze(-1).expand(moves.shape), torch.ones_like(transition, dtype=torch.bool)


def _transducer(
    moves: Tensor, lengths: Tensor | None = None, validate_args: bool | None = None
) -> Transducer:
    """Return a transducer whose targets have one label less than the number of frames; none without frames."""
    frames = torch.full(moves.shape[:-3], moves.shape[-3]) if lengths is None else lengths
    return Transducer(moves, lengths, (frames - 1).clamp(min=0), validate_args)


def _all_of_transducer(length: int, moves: Tensor) -> Table:
    return brute_force.transducer(length, max(length - 1, 0), moves)


def _nodes(length: int, moves: Tensor) -> tuple[Tensor]:
    """Return a mask of the moves at nodes within the lengths: as many columns as frames."""
    n, columns, _ = moves.shape
    nodes = (torch.arange(n) < length)[:, None] & (torch.arange(columns) < length)
    return (nodes.unsqueeze(-1).expand(moves.shape),)


SUBJECTS = (
    _ctc("CTC", (1, 2), blank=0, spare=0),
    _ctc("CTC, repeated label", (0, 0), blank=2, spare=1),
    Subject("MonotoneAlignment", _square, _all_of_square, draws(lambda n: (n, n, 3)), {"moves": 3}, size=3),
    Subject(
        "MonotoneAlignment, affine gaps",
        _oblong,
        _all_of_oblong,
        draws(lambda n: (n, n - 1, 3), lambda _: (3, 3)),
        {"moves": 3, "transition": 2},
        within=_cells,
    ),
    Subject(
        "Transducer",
        _transducer,
        _all_of_transducer,
        draws(lambda n: (n, n, 2)),
        {"moves": 3},
        within=_nodes,
    ),
)
