"""The base class of context-free grammars (PCFG), with scores of the root, rules and words."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from strukt.checks import arguments
from strukt.kernels.places import Places
from strukt.structures.spans import SpanStructure


class ContextFreeGrammar(SpanStructure, abc.ABC):
    """The trees of one sentence under a grammar with s nonterminals and p preterminals.

    Labels 0 to s - 1 are the nonterminals, of spans of several words; s to s + p - 1 are the preterminals, of
    single words. The first score tensors are ``spans`` and ``root``, the last is ``emission``; those of rules are
    between them. A subclass has a constructor and `_rebuilt` for its order of arguments, the class attributes
    ``oracles``, ``score_names`` and ``extents``, and `_places` or `_score`.
    """

    @property
    def root_marginals(self) -> Tensor:
        """The probability of each nonterminal as label of the whole sentence, ``batch + (s,)``; differentiable."""
        whole = self.marginals[..., 0, :, : self._nonterminals]
        index = self.lengths[..., None, None].expand(*self.batch_shape, 1, self._nonterminals)
        return whole.gather(-2, index).squeeze(-2)

    def _are_structures(self, event: Tensor) -> Tensor:
        return super()._are_structures(event) & (self.lengths != 1)

    def _fault(self, event: Any, length: int, constants: Sequence[Any]) -> str | None:
        if length == 1:
            return "a sentence of one word has no tree, because no nonterminal can head it"
        return super()._fault(event, length, constants)

    @property
    def _nonterminals(self) -> int:
        return self.scores[1].shape[-1]

    @property
    def _label_ranges(self) -> tuple[range, range]:
        return range(self._nonterminals, self._labels), range(self._nonterminals)

    def _places_but_rules(self, event: Tensor) -> Places:
        """Return the flat indices of the scores of spans, root and emissions that a tree uses; -1 for none."""
        labels = event.clamp(0, self._labels - 1)
        nonterminals, preterminals = self._nonterminals, self.scores[-1].shape[-1]
        ends = self.lengths.expand(event.shape[:-2]).unsqueeze(-1)
        top = labels[..., 0, :].gather(-1, ends).clamp(max=nonterminals - 1)
        words = (labels.diagonal(1, -2, -1) - nonterminals).clamp(0, preterminals - 1)
        positions = torch.arange(words.shape[-1], device=event.device)
        emitted = torch.where(positions < self.lengths.unsqueeze(-1), positions * preterminals + words, -1)
        spans = self._places_of_spans(event)
        return spans, torch.where((self.lengths > 1).unsqueeze(-1), top, -1), emitted

    def _rules(self, event: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return a mask of a tree's spans of several words, and the labels of each such span and its two children.

        Each is ``(..., n + 1, n + 1)``: mask, label, label of the left child, and of the right child. Labels
        outside the mask are arbitrary.
        """
        labels, used = event.clamp(0, self._labels - 1), self._within & (event >= 0)
        # The left child of a span is the widest of the narrower spans with the same start.
        ends = torch.where(used, torch.arange(self.event_shape[0], device=event.device), 0).cummax(-1).values
        split = torch.nn.functional.pad(ends[..., :-1], (1, 0))
        left, right = labels.gather(-1, split), labels.gather(-2, split)
        return used & (self._widths > 1), labels.clamp(max=self._nonterminals - 1), left, right


def common_batch(
    scores: Mapping[str, tuple[Tensor | None, tuple[int, ...]]], sizes: Sequence[int], expected: str
) -> torch.Size:
    """Return the common batch axes of the scores of a grammar.

    Args:
        scores: For the name of each score tensor, the tensor, or None if it is not given, and the expected sizes
            of its last axes.
        sizes: The numbers of symbols, which must be 1 or more.
        expected: A description of the expected shapes, for the error message.

    Raises:
        ValueError: If the shapes do not fit together, or a size is 0.
    """
    present = {name: (score, axes) for name, (score, axes) in scores.items() if score is not None}
    fits = min(sizes) > 0 and all(score.shape[-len(axes) :] == axes for score, axes in present.values())
    try:
        result = arguments.broadcast_shapes(*(score.shape[: -len(axes)] for score, axes in present.values()))
    except RuntimeError:
        fits = False
    if not fits:
        shapes = ", ".join(f"{name} {tuple(score.shape)}" for name, (score, _) in present.items())
        raise ValueError(f"the shapes do not fit together: {shapes}; expected {expected}")
    return result
