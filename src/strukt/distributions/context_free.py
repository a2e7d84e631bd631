"""What grammars have in common: trees whose labels come in two kinds, and scores of root, rules and words."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from strukt.distributions.spans import SpanStructure, chosen


class ContextFreeGrammar(SpanStructure, abc.ABC):
    """Trees of a sentence whose wider spans bear a nonterminal, 0 to s - 1, and whose words a preterminal.

    The first score tensors are ``spans`` and ``root``, the last one is ``emission``; rules are between them.
    """

    @property
    def root_marginals(self) -> Tensor:
        """The probability of each label of the whole sentence, ``batch + (s,)``; differentiable."""
        whole = self.marginals[..., 0, :, : self._nonterminals]
        index = self.lengths[..., None, None].expand(*self.batch_shape, 1, self._nonterminals)
        return whole.gather(-2, index).squeeze(-2)

    def is_structure(self, event: Tensor) -> Tensor:
        return super().is_structure(event) & (self.lengths != 1)

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

    @abc.abstractmethod
    def _scores_of_rules(self, parent: Tensor, left: Tensor, right: Tensor) -> Tensor:
        """The scores of rules with these labels, which have ``sample_shape + batch`` and more axes."""

    def _score(self, event: Tensor) -> Tensor:
        root, emission = self.scores[1], self.scores[-1]
        labels = event.clamp(0, self._labels - 1)
        whole = labels[..., 0, :].gather(-1, self.lengths.expand(event.shape[:-2]).unsqueeze(-1)).squeeze(-1)
        words = (labels.diagonal(1, -2, -1) - self._nonterminals).clamp(min=0)
        positions = torch.arange(words.shape[-1], device=event.device) < self.lengths.unsqueeze(-1)
        tops = only_where(self.lengths > 1, chosen(root, whole.clamp(max=self._nonterminals - 1)))
        emitted = only_where(positions, chosen(emission, words)).sum(-1)
        return super()._score(event) + tops + emitted + self._rules_used(event).flatten(-2).sum(-1)

    def _rules_used(self, event: Tensor) -> Tensor:
        """For each span of two and more words the score of the rule that makes it; 0 elsewhere."""
        labels, used = event.clamp(0, self._labels - 1), self._within & (event >= 0)
        # The left child of a span is the widest of the narrower spans that begin with it.
        ends = torch.where(used, torch.arange(self.event_shape[0], device=event.device), 0).cummax(-1).values
        split = torch.nn.functional.pad(ends[..., :-1], (1, 0))
        left, right = labels.gather(-1, split), labels.gather(-2, split)
        parent = labels.clamp(max=self._nonterminals - 1)
        return only_where(used & (self._widths > 1), self._scores_of_rules(parent, left, right))


def only_where(mask: Tensor, values: Tensor) -> Tensor:
    """Values, and 0 where a mask does not hold."""
    return torch.where(mask, values, torch.zeros_like(values))
