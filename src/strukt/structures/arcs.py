"""Structures whose event is a head for each word, and optionally a label for each arc."""

from __future__ import annotations

import abc
import warnings

import torch
from torch import Tensor
from typing_extensions import Self

from strukt.checks.guards import UNBOUNDED
from strukt.kernels.semiring import NEG_INF, finite
from strukt.structures.labelled_arcs import tree_arcs
from strukt.structures.positional import PositionalStructure


class ArcStructure(PositionalStructure, abc.ABC):
    """A structure with main scores ``batch + (n, n + 1)``, or with labels ``batch + (n, n + 1, c)``.

    ``[m, h]`` scores the arc from head h to word m + 1; h = 0 is the root. Events are heads ``batch + (n,)``, or
    heads and labels ``batch + (n, 2)``; -1 is padding. With labels, each pair of a head and a label is one of the
    alternatives of a word (see `PositionalStructure`).
    """

    labelled: bool
    """True if arcs have labels."""

    def __init__(
        self,
        arcs: Tensor,
        lengths: Tensor | None,
        options: tuple[bool, ...],
        labelled: bool,
        validate_args: bool | None,
    ) -> None:
        self.labelled = labelled
        self.extents = ([0, 1, UNBOUNDED] if labelled else [0, 1],)
        super().__init__((arcs,), lengths, options, validate_args)
        if labelled:
            self._event_shape = torch.Size((arcs.shape[-3], 2))

    @abc.abstractmethod
    def _without_labels(self, arcs: Tensor) -> Self:
        """Return the distribution of this kind without labels, with scores ``batch + (n, n + 1)``."""

    def _max_marginals(self) -> Tensor:
        """Return `max_marginals`; with labels, from trees without labels in which each arc has its best label."""
        if not self.labelled:
            return super()._max_marginals()
        each = tree_arcs(self.scores[0], self.lengths)
        best = each.max(-1, keepdim=True).values
        through = self._without_labels(best.squeeze(-1)).max_marginals.unsqueeze(-1)
        change = torch.where(best == NEG_INF, NEG_INF, each - finite(best))
        return torch.where(through == NEG_INF, NEG_INF, through + change).to(self.scores[0].dtype)

    def _heads(self, event: Tensor) -> Tensor:
        """Return the heads ``(..., n)`` of events, without their labels."""
        return event[..., 0] if self.labelled else event

    def _alternatives(self, event: Tensor) -> Tensor:
        if not self.labelled:
            return event
        heads, c = self.scores[0].shape[-2:]
        head, label = event.unbind(-1)
        named = torch.where(label < c, head * c + label, heads * c)
        return torch.where((head < 0) | (label < 0), -1, named)

    def _event(self, alternatives: Tensor) -> Tensor:
        if not self.labelled:
            return alternatives
        c = self.scores[0].shape[-1]
        pairs = torch.stack([alternatives // c, alternatives % c], -1)
        return pairs.masked_fill((alternatives < 0).unsqueeze(-1), -1)

    def _rows(self, parts: Tensor) -> Tensor:
        return parts.flatten(-2) if self.labelled else parts

    def _shaped(self, rows: Tensor) -> Tensor:
        return rows.reshape(*rows.shape[:-1], *self.scores[0].shape[-2:]) if self.labelled else rows

    @property
    def _made_of(self) -> str:
        if not self.labelled:
            return super()._made_of
        heads, c = self.scores[0].shape[-2:]
        return f"made of heads 0 to {heads - 1} and labels 0 to {c - 1}"

    def _is_named(self, event: Tensor) -> Tensor:
        if not self.labelled:
            return super()._is_named(event)
        sizes = torch.tensor(self.scores[0].shape[-2:], device=event.device)
        return ((event >= 0) & (event < sizes)) | ~self._positions.unsqueeze(-1)

    def _agreeing(self, event: Tensor, known: Tensor) -> Self:
        if not self.labelled:
            return super()._agreeing(event, known)
        known = known & self._positions.unsqueeze(-1)
        wrong_head, wrong_label = (
            known[..., place, None] & (event[..., place, None] != torch.arange(size, device=event.device))
            for place, size in enumerate(self.scores[0].shape[-2:])
        )
        return self.condition(forbidden=wrong_head.unsqueeze(-1) | wrong_label.unsqueeze(-2))

    @property
    def _most_parts(self) -> int:
        return self.event_shape[0]


def has_labels(arcs: Tensor, lengths: Tensor | None) -> bool:
    """Infer from the shapes whether the last axis of ``arcs`` holds labels.

    Warns:
        UserWarning: If the shape ends in (n, n + 1, n + 2) and there are no lengths: it is read as a batch without
            labels. If the shape is (n, n + 1, n + 1) and there are no lengths: it is read as one sentence with
            labels, but may be a batch of square matrices with a row for the root, as in other libraries.
    """
    *batch, words, heads, c = (0, 0, *arcs.shape)
    if len(batch) < 2 or heads != words + 1:
        return False
    if c == heads and len(batch) == 2 and lengths is None:
        _warn(
            f"arcs of shape {tuple(arcs.shape)} are read as one sentence of {words} words with {c} labels; if "
            "that is so, say labelled=True. If the first axis is a batch, leave out the row of the root: "
            "arcs[:, 1:]"
        )
    if c != heads + 1:
        return True
    if isinstance(lengths, Tensor):
        return lengths.dim() == arcs.dim() - 3
    _warn(
        f"arcs of shape {tuple(arcs.shape)} are read as a batch without labels; say labelled=True if the last "
        "axis holds labels, labelled=False if it does not"
    )
    return False


def _warn(message: str) -> None:
    """Warn, at the line that constructs a structure; not under ``torch.compile``, which cannot trace warnings."""
    if not torch.compiler.is_compiling():
        warnings.warn(message, stacklevel=4)
