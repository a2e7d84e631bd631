"""Low-rank PCFGs (TN-PCFG): thousands of nonterminals, each rule a sum over a few hundred ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor
from typing_extensions import Self

from strukt.checks import arguments
from strukt.checks.guards import UNBOUNDED
from strukt.checks.lengths import Lengths
from strukt.kernels.oracles import Oracles
from strukt.kernels.places import sum_of_totals
from strukt.kernels.semiring import NEG_INF, logsumexp, precise
from strukt.structures.cached import cached
from strukt.structures.context_free import ContextFreeGrammar, common_batch
from strukt.structures.low_rank_pcfg.rank_inside.reference import ORACLES as OF_WORDS
from strukt.structures.low_rank_pcfg.reference import REFERENCE
from strukt.structures.low_rank_pcfg.rules import LARGEST, composed
from strukt.structures.pcfg.distribution import PCFG
from strukt.structures.span_tree.distribution import SpanTree


class LowRankPCFG(ContextFreeGrammar):
    """The trees of a sentence under a grammar whose rules have low rank (TN-PCFG, Yang, Zhao and Tu 2021).

    The weight of the rule A -> B C is the sum over r ranks R of exp(head[A, R] + left[R, B] + right[R, C]): a
    nonterminal chooses a rank, and the rank chooses both children independently. The distribution is that of a
    `PCFG` with these rules, but sums over trees do not need their table.

    Args:
        root: ``(s,)`` or ``batch + (s,)``, the score of each nonterminal as the label of the whole sentence.
        left: ``(r, s + p)`` or ``batch + (r, s + p)``; ``[R, B]`` scores B as the left child of a rank.
        right: ``(r, s + p)`` or ``batch + (r, s + p)``; ``[R, C]`` scores C as its right child.
        head: ``(s, r)`` or ``batch + (s, r)``; ``[A, R]`` scores a rank under a nonterminal.
        emission: ``(n, p)`` or ``batch + (n, p)``, the score of each preterminal for each word of the sentence.
        lengths: ``batch``, in words; all n if None.
        spans: ``batch + (n + 1, n + 1, s + p)``, additional scores: ``[i, j, A]`` scores the span from fencepost i
            to j > i with label A. Other entries have no effect, but must not be NaN or +inf. None for scores of 0.
        validate_args: Whether to check values as well as shapes; if None, see `strukt.set_default_validate_args`.

    Scores are log-probabilities or any other numbers: nothing is normalised. A grammar that all items share is not
    copied for each of them. Labels, events, operators and parts are those of `PCFG`; as there, a sentence of one
    word has no tree.

    Without ``spans``, `log_partition` takes O(n^3 r + n^2 r^2 + s r^2) time per item, or O(n^3 r + n^2 s r) if
    that is less, and O(n p r) for the words (Yang, Liu and Tu 2022); so do its gradients. With ``spans``, it takes
    O(n^3 r + n^2 s r + n p r), like `marginals`, `condition` and `sample`. Best trees do not decompose over ranks,
    because the score of a tree sums over them: `mode`, `topk`, `max_marginals`, `entropy`, `cross_entropy`,
    `log_count`, `rsample_relaxed`, `sparsemap` and all operators that need them build all rules (`to_pcfg`), and
    raise NotImplementedError for more than 2^24. `mbr` also works with more, if no score of the grammar is -inf;
    it is the customary way to parse with such grammars.

    Raises:
        ValueError: If shapes, types or values do not fit.

    Examples:
        >>> torch.manual_seed(0)  # doctest: +ELLIPSIS
        <...>
        >>> s, p, r, n = 500, 1000, 60, 12
        >>> root, head = torch.randn(s).log_softmax(-1), torch.randn(s, r).log_softmax(-1)
        >>> left, right = torch.randn(2, r, s + p).log_softmax(-1)
        >>> trees = LowRankPCFG(root, left, right, head, torch.randn(2, n, p), lengths=torch.tensor([12, 7]))
        >>> trees.log_partition.shape, trees.marginals.shape, trees.mbr.shape
        (torch.Size([2]), torch.Size([2, 13, 13, 1500]), torch.Size([2, 13, 13]))
        >>> trees.mode
        Traceback (most recent call last):
        ...
        NotImplementedError: this needs all 1125000000 rules of 500 nonterminals and 1500 symbols, ...
    """

    oracles = Oracles(
        __package__,
        scores=("spans", "root", "left", "right", "head", "emission"),
        options=(),
        reference=REFERENCE,
        event_dim=2,
    )
    score_names: ClassVar[tuple[str, ...]] = ("spans", "root", "left", "right", "head", "emission")
    extents = (
        [1, 1, UNBOUNDED],
        [UNBOUNDED],
        [UNBOUNDED] * 2,
        [UNBOUNDED] * 2,
        [UNBOUNDED] * 2,
        [0, UNBOUNDED],
    )

    def __init__(
        self,
        root: Tensor,
        left: Tensor,
        right: Tensor,
        head: Tensor,
        emission: Tensor,
        lengths: Lengths | None = None,
        spans: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        arguments.scores("root", root, "(s,) or batch + (s,)", 1)
        arguments.scores("left", left, "(r, s + p) or batch + (r, s + p)", 2)
        arguments.scores("right", right, "(r, s + p) or batch + (r, s + p)", 2)
        arguments.scores("head", head, "(s, r) or batch + (s, r)", 2)
        arguments.scores("emission", emission, "(n, p) or batch + (n, p)", 2)
        if spans is not None:
            arguments.scores("spans", spans, "batch + (n + 1, n + 1, s + p)", 3)
        (s, r), (n, p) = head.shape[-2:], emission.shape[-2:]
        of_spans = (n + 1, n + 1, s + p)
        batch_shape = common_batch(
            {
                "root": (root, (s,)),
                "left": (left, (r, s + p)),
                "right": (right, (r, s + p)),
                "head": (head, (s, r)),
                "emission": (emission, (n, p)),
                "spans": (spans, of_spans),
            },
            (s, p, r),
            "root (*, s), left and right (*, r, s + p), head (*, s, r), emission (*, n, p) and spans "
            "(*, n + 1, n + 1, s + p) with s >= 1 nonterminals, p >= 1 preterminals and r >= 1 ranks",
        )
        plain = spans is None
        spans = emission.new_zeros(()) if spans is None else spans
        spans = spans.expand(*batch_shape, *of_spans)
        super().__init__((spans, root, left, right, head, emission), lengths, (), validate_args)
        self._plain = plain

    def to_pcfg(self) -> PCFG:
        """Return the same distribution as a `PCFG` with all rules in double precision; differentiable.

        Raises:
            NotImplementedError: If there are more than 2^24 rules.
        """
        spans, root, left, right, head, emission = (precise(score) for score in self.scores)
        batch = arguments.broadcast_shapes(left.shape[:-2], right.shape[:-2], head.shape[:-2])
        each = (score.expand(*batch, *score.shape[-2:]).unsqueeze(-3) for score in (left, right, head))
        rules = composed(*each).squeeze(-4)
        return PCFG(root, rules, emission, self.lengths, spans, validate_args=False)

    @property
    @cached
    def log_partition(self) -> Tensor:
        """The log of the summed exponentiated scores, ``batch``; -inf without trees. Twice differentiable."""
        arguments = self._arguments()
        if not self._plain:
            return self._to_batch(self.oracles.log_partition(*arguments))
        _, root, left, right, head, _, lengths = arguments
        emission = self.scores[-1]
        each = emission.expand(self.batch_shape + emission.shape[-2:])
        words = each.reshape(self._batch_size(), *emission.shape[-2:])
        return self._to_batch(OF_WORDS.log_partition(words, root, left, right, head, lengths))

    def cross_entropy(self, other: Self) -> Tensor:
        """Return -E[log other] in nats, ``batch``, as a `PCFG` does; ``other`` may have another rank.

        Raises:
            NotImplementedError: If there are more than 2^24 rules, or ``other`` is over other structures.
            ValueError: If the shapes do not fit together, or (with ``validate_args``) lengths differ.
        """
        mine, theirs = self._aligned(other)
        return mine.to_pcfg().cross_entropy(theirs.to_pcfg()).to(self.scores[0].dtype)

    @property
    def log_count(self) -> Tensor:
        return self.to_pcfg().log_count.to(self.scores[0].dtype)

    def _max_marginals(self) -> Tensor:
        return self.to_pcfg().max_marginals.to(self.scores[0].dtype)

    @property
    def mbr(self) -> Tensor:
        """The tree with the highest expected number of labelled spans in common with a sample (MBR).

        It is ``batch + event_shape``.

        Raises:
            InfeasibleError: If every tree of some item is forbidden.
            NotImplementedError: If a score of -inf may forbid rules, and there are too many to check them.
        """
        main = self.scores[0]
        expected = torch.where(main == NEG_INF, main, self.marginals)
        if self._nonterminals * self._labels**2 <= LARGEST:
            _, *others = self.to_pcfg().scores
            allowed = (torch.where(score == NEG_INF, NEG_INF, 0.0).to(score.dtype) for score in others)
            root, rules, emission = allowed
            return PCFG(root, rules, emission, self.lengths, expected.double(), validate_args=False).mode
        if any(bool((score == NEG_INF).any()) for score in self.scores[1:]):
            raise NotImplementedError(
                "mbr of a grammar with scores of -inf needs to know which rules remain, and there are too many; "
                "forbid spans with condition(forbidden=...), or use a large negative number such as -1e4"
            )
        return self._best_bracketing(expected)

    def _best_bracketing(self, expected: Tensor) -> Tensor:
        """Return the tree whose labelled spans have the largest sum of ``expected``; all rules are allowed."""
        s = self._nonterminals
        is_word = (self._widths == 1).unsqueeze(-1)
        is_label = is_word == (torch.arange(self._labels, device=expected.device) >= s)
        best, label = torch.where(is_label, expected, NEG_INF).max(-1)
        best = best.masked_fill((self.lengths == 1)[..., None, None], NEG_INF)
        used = SpanTree(best, self.lengths, validate_args=False).mode
        return torch.where(used >= 0, label, -1)

    def rsample_relaxed(
        self, temperature: float, sample_shape: Sequence[int] = (), straight_through: bool = False
    ) -> Tensor:
        """Draw relaxed samples, as `PCFG` does: from all rules, because temperatures do not act on ranks.

        Args:
            temperature: A positive number; as it goes to 0, samples become the parts of `perturb_and_map`.
            sample_shape: The leading axes of the result.
            straight_through: Whether to return the discrete structures with the gradient of their relaxation.

        Returns:
            ``sample_shape + batch + (n + 1, n + 1, s + p)``.

        Raises:
            NotImplementedError: If there are more than 2^24 rules.
            InfeasibleError: With ``straight_through``, if every tree of some item is forbidden.
            ValueError: If the temperature is not positive and finite, or ``sample_shape`` is not a sequence of
                sizes.
        """
        result = self.to_pcfg().rsample_relaxed(temperature, sample_shape, straight_through)
        return result.to(self.scores[0].dtype)

    def mode_parts(self, gradient: str = "straight-through", step: float = 1.0) -> Tensor:
        if gradient == "spigot":  # its projection needs to know which rules remain, all with the score 0
            return self.to_pcfg().mode_parts(gradient, step).to(self.scores[0].dtype)
        return super().mode_parts(gradient, step)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        result = super().expand(batch_shape)
        result._plain = self._plain
        return result

    def _rebuilt(self, scores: tuple[Tensor, ...], lengths: Tensor, constants: tuple[Tensor, ...]) -> Self:
        spans, *grammar = scores
        kind: Any = type(self)
        return kind(*grammar, lengths, spans, *constants, validate_args=False)  # type: ignore[no-any-return]

    def _forbidden(self, event: Tensor) -> str | None:
        """Return a clause that names a part with score -inf that an event uses; None if there is none.

        A rule has the score -inf if all its ranks have. If there are too many rules to check them, return None.
        """
        try:
            return self.to_pcfg()._forbidden(event)
        except NotImplementedError:  # too many rules
            return None

    def _score(self, event: Tensor) -> Tensor:
        spans, root, lefts, rights, head, emission = self.scores
        used, parent, left, right = self._rules(event)
        ranks = _rows(head, parent) + _rows(lefts.mT, left) + _rows(rights.mT, right)
        rules = torch.where(used, logsumexp(ranks, -1), 0.0).flatten(-2).sum(-1)
        places = self._places_but_rules(event)
        return sum_of_totals((spans, root, emission), (3, 1, 2), places) + rules


def _rows(matrix: Tensor, index: Tensor) -> Tensor:
    """Return the rows ``(..., n, n, r)`` of matrices ``batch + (labels, r)`` that ``index (..., n, n)`` names."""
    batch = torch.arange(matrix.shape[:-2].numel(), device=index.device).reshape(matrix.shape[:-2])
    return matrix.reshape(-1, matrix.shape[-1])[index + batch[..., None, None] * matrix.shape[-2]]
