"""Probabilistic context-free grammars (PCFG): distributions over the trees of a sentence."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor
from typing_extensions import Self

from strukt.checks import arguments
from strukt.checks.guards import UNBOUNDED
from strukt.checks.lengths import Lengths
from strukt.kernels.places import Places
from strukt.structures.context_free import ContextFreeGrammar, common_batch
from strukt.structures.pcfg.max_marginals import max_marginals
from strukt.structures.pcfg.reference import ORACLES


class PCFG(ContextFreeGrammar):
    """The trees of a sentence under a context-free grammar in Chomsky normal form (Baker 1979).

    Each span of two or more words has a nonterminal, which rewrites to two children; each word has a preterminal.
    Labels 0 to s - 1 are nonterminals, labels s to s + p - 1 are preterminals.

    Args:
        root: ``(s,)`` or ``batch + (s,)``, the score of each nonterminal as the label of the whole sentence.
        rules: ``(s, s + p, s + p)`` or ``batch + (s, s + p, s + p)``; ``[A, B, C]`` scores the rule A -> B C.
        emission: ``(n, p)`` or ``batch + (n, p)``, the score of each preterminal for each word of the sentence.
        lengths: ``batch``, in words; all n if None.
        spans: ``batch + (n + 1, n + 1, s + p)``, additional scores: ``[i, j, A]`` scores the span from fencepost i
            to j > i with label A. Other entries have no effect, but must not be NaN or +inf. None for scores of 0.
        validate_args: Whether to check values as well as shapes; if None, see `strukt.set_default_validate_args`.

    Scores are log-probabilities or any other numbers: nothing is normalised. Tensors that all items share are
    not copied for each item, except by `rule_marginals`.

    `StructuredDistribution` has the operators, and the rules for -inf, NaN and padding.

    Events are ``batch + (n + 1, n + 1)``: the label of each span of the tree, -1 elsewhere. The parts to which
    `marginals`, `condition` and `max_marginals` refer are labelled spans. A sentence of one word has no tree,
    because nonterminals need two children: its log-partition is -inf. Sums and maxima take
    O(n^3 s^2 + n^2 s^3 + n s p (s + p)) time per item. With kernels, `sample` adds at most
    O(n^2 s^2 + n p (s + p)) per tree, and `topk` O(k n^2 (s + p)^2); in the PyTorch reference, `topk` takes k^2
    times as long.

    Raises:
        ValueError: If shapes, types or values do not fit.

    Examples:
        >>> grammar = PCFG(torch.zeros(1), torch.zeros(1, 3, 3), torch.zeros(3, 2))
        >>> grammar.log_count.exp().round()  # two trees, and two preterminals for each word
        tensor(16.)
        >>> certain = torch.tensor([[0.0, -9.0], [-9.0, 0.0], [-9.0, 0.0]])
        >>> PCFG(torch.zeros(1), torch.zeros(1, 3, 3), certain).mode.diagonal(1)
        tensor([1, 2, 2])
    """

    oracles = ORACLES
    _best_with_each_part = staticmethod(max_marginals)
    score_names: ClassVar[tuple[str, ...]] = ("spans", "root", "rules", "emission")
    extents = ([1, 1, UNBOUNDED], [UNBOUNDED], [UNBOUNDED] * 3, [0, UNBOUNDED])

    def __init__(
        self,
        root: Tensor,
        rules: Tensor,
        emission: Tensor,
        lengths: Lengths | None = None,
        spans: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        arguments.scores("root", root, "(s,) or batch + (s,)", 1)
        arguments.scores("rules", rules, "(s, s + p, s + p) or batch + (s, s + p, s + p)", 3)
        arguments.scores("emission", emission, "(n, p) or batch + (n, p)", 2)
        if spans is not None:
            arguments.scores("spans", spans, "batch + (n + 1, n + 1, s + p)", 3)
        s, (n, p) = root.shape[-1], emission.shape[-2:]
        of_spans = (n + 1, n + 1, s + p)
        batch_shape = common_batch(
            {
                "root": (root, (s,)),
                "rules": (rules, (s, s + p, s + p)),
                "emission": (emission, (n, p)),
                "spans": (spans, of_spans),
            },
            (s, p),
            "root (*, s), rules (*, s, s + p, s + p), emission (*, n, p) and spans (*, n + 1, n + 1, s + p) with "
            "s >= 1 nonterminals and p >= 1 preterminals",
        )
        spans = emission.new_zeros(()) if spans is None else spans
        spans = spans.expand(*batch_shape, *of_spans)
        super().__init__((spans, root, rules, emission), lengths, (), validate_args)

    @property
    def rule_marginals(self) -> Tensor:
        """The expected number of uses of each rule, ``batch + (s, s + p, s + p)``; differentiable."""
        spans, root, rules, *rest = self._arguments()
        each = rules.expand(len(spans), *rules.shape[1:])
        return self._to_batch(self.oracles.marginals(spans, root, each, *rest)[2])

    def _require_same_kind(self, other: Any) -> None:
        super()._require_same_kind(other)
        count, expected = other.scores[1].shape[-1], self.scores[1].shape[-1]
        if count != expected:
            raise ValueError(f"other has {count} nonterminals; expected those of this distribution, {expected}")

    def _rebuilt(self, scores: tuple[Tensor, ...], lengths: Tensor, constants: tuple[Tensor, ...]) -> Self:
        spans, root, rules, emission = scores
        kind: Any = type(self)
        return kind(root, rules, emission, lengths, spans, *constants, validate_args=False)  # type: ignore[no-any-return]

    def _places(self, event: Tensor) -> Places:
        spans, root, emission = self._places_but_rules(event)
        used, parent, left, right = self._rules(event)
        rules = torch.where(used, (parent * self._labels + left) * self._labels + right, -1)
        return spans, root, rules.flatten(-2), emission
