"""Contrastive hashing: learn binary codes of spans from labels by comparing two views of the same spans."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from strukt.checks import arguments
from strukt.structures.bit_span_tree.distribution import MOST_BITS, to_bits, to_codes


def contrastive_hashing(
    first: Tensor,
    second: Tensor,
    labels: Tensor,
    variant: str = "max",
    temperature: float = 0.1,
    codes: tuple[Tensor, Tensor] | None = None,
) -> Tensor:
    """Return the contrastive hashing loss: how badly the codes of spans separate their labels within a batch.

    Spans are numbered 1 to m; y_i is the label of span i and mu_k(i, c) the marginal probability of the value c
    of its bit k. The code of a span in a view is, by equation 13, the value of the larger marginal in each bit, -1
    where both are equal; no gradient passes through it. Span i of one view is as similar to span j of the other
    one as it is probable to be a span with the code of j (equation 14):

        s(i, j) = 1 / (K temperature) sum over k of mu_k(i, c_k(j))

    With N = {j: y_j != y_i}, P = {j: y_j = y_i} and S = {i}, the loss of span i is

    | variant | loss | equation |
    |---|---|---|
    | ``"self"`` | -log (exp s(i, i) / sum over j in N and P of exp s(i, j)) | 15 |
    | ``"sup"`` | -(mean over p in P of log (exp s(i, p) / sum over j in N and P of exp s(i, j))) | 17 |
    | ``"hash"`` | -log (exp s(i, i) / sum over j in N and S of exp s(i, j)) | 18 |
    | ``"max"`` | -log (sum over p in P of exp s(i, p) / sum over j in N and S of exp s(i, j)) | 19 |

    and the result is the mean over i of L(i, mu of ``first``, codes of ``second``) + L(i, mu of ``second``, codes
    of ``first``) (equation 20). ``"max"`` needs one similar span of the same label, not all of them, so that a
    label may have several codes; it can be negative.

    Args:
        first: Marginals ``(m, K, 2)`` of the values -1 and +1 of each bit of the m spans, as
            `BitSpanTree.bit_marginals` returns them for the spans of the gold trees, from all sentences of a
            batch.
        second: The marginals of the same spans from a second pass, with different dropout.
        labels: The label of each span, ``(m,)``, any integers.
        variant: The loss, a row of the table above.
        temperature: The divisor of the similarities, which lie between 0 and 1; 0.1 makes their exponentials
            differ clearly.
        codes: The codes of the spans in both views, ``(m,)`` integers in which bit b of value +1 counts 2^b; those
            of equation 13 if None. Codes sampled from the marginals give ``"max"`` a gradient that separates
            labels with the same best code, which equation 13 cannot distinguish.

    Returns:
        A scalar, twice differentiable in the marginals; 0 without spans.

    Raises:
        ValueError: If shapes or types do not fit, a code has more than K bits, the temperature is not positive,
            or there is no such variant.

    Complexity:
        Time O(m U K), memory O(m (U + K)) for U <= min(m, 2^K) different codes in a view: s(i, j) depends on j
        only by its code, so that sums over spans are sums over codes, weighted by how many spans have them.

    Source:
        Wang et al. (2024), "To be continuous, or to be discrete, those are bits of questions", section 3.

    Examples:
        >>> right, wrong = torch.tensor([[[0.9, 0.1]], [[0.1, 0.9]]]), torch.tensor([[[0.1, 0.9]], [[0.9, 0.1]]])
        >>> labels = torch.tensor([0, 1])
        >>> contrastive_hashing(right, right, labels), contrastive_hashing(right, wrong, labels)
        (tensor(0.0007), tensor(16.0007))
    """
    if variant not in VARIANTS:
        known = ", ".join(map(repr, VARIANTS))
        raise ValueError(f"variant is {variant!r}; expected one of {known}")
    if not temperature > 0:
        raise ValueError(f"temperature is {temperature}; expected a positive number")
    _check(first, second, labels)
    first, second = arguments.common_dtype((first, second), ("first", "second"))
    if codes is None:
        codes = (to_codes(first[..., 1] > first[..., 0]), to_codes(second[..., 1] > second[..., 0]))
    else:
        _check_codes(codes, first)
    names, numbers = labels.unique(return_inverse=True)  # type: ignore[no-untyped-call]
    total = first.new_zeros(())
    for marginals, others in ((first, codes[1]), (second, codes[0])):
        comparison = _compared(marginals, others, numbers, len(names), temperature)
        total = total + VARIANTS[variant](comparison).sum()
    return total / max(1, len(labels))


@dataclass(frozen=True)
class Comparison:
    """The spans of one view, compared with the U distinct codes of the other view.

    Attributes:
        similarity: ``(m, U)``, of each span to each code.
        own: ``(m, 1)``, the index of the code that the same span has in the other view.
        labels: ``(m,)``, numbered from 0.
        counts: ``(labels, U)``, the number of spans of each label with each code.
    """

    similarity: Tensor
    own: Tensor
    labels: Tensor
    counts: Tensor

    def to_itself(self) -> Tensor:
        """Return the similarity of each span to itself: ``(m,)``."""
        return self.similarity.gather(-1, self.own).squeeze(-1)

    def to_all(self) -> Tensor:
        """Return the log of the sum over N and P: ``(m,)``."""
        return self._log_sum(self.counts.sum(0).log())

    def to_label(self) -> Tensor:
        """Return the log of the sum over P, which includes the span itself: ``(m,)``."""
        return self._log_sum(self.counts.log()[self.labels])

    def to_label_mean(self) -> Tensor:
        """Return the mean similarity over P: ``(m,)``."""
        weights = self.counts / self.counts.sum(-1, keepdim=True)
        return (weights[self.labels] * self.similarity).sum(-1)

    def to_others(self) -> Tensor:
        """Return the log of the sum over N and S: ``(m,)``."""
        strangers = self.counts.sum(0) - self.counts
        log_counts = strangers.log()[self.labels]
        with_itself = (strangers[self.labels, self.own.squeeze(-1)] + 1.0).log()
        return self._log_sum(log_counts.scatter_(-1, self.own, with_itself.unsqueeze(-1)))

    def _log_sum(self, log_counts: Tensor) -> Tensor:
        # Each sum has at least one term, so its largest term is finite and no derivative is NaN.
        return (self.similarity + log_counts).logsumexp(-1)


VARIANTS: dict[str, Callable[[Comparison], Tensor]] = {
    "self": lambda spans: spans.to_all() - spans.to_itself(),
    "sup": lambda spans: spans.to_all() - spans.to_label_mean(),
    "hash": lambda spans: spans.to_others() - spans.to_itself(),
    "max": lambda spans: spans.to_others() - spans.to_label(),
}
"""The variants by name, each a function of a `Comparison` to the loss of each span ``(m,)``."""


def _compared(
    marginals: Tensor, others: Tensor, labels: Tensor, count: int, temperature: float
) -> Comparison:
    """Compare the spans of one view with their codes in the other view."""
    codes, own = others.unique(return_inverse=True)  # type: ignore[no-untyped-call]
    bits = marginals.shape[1]
    positive = to_bits(codes, bits)
    chosen = torch.stack([~positive, positive], -1).to(marginals.dtype)
    similarity = marginals.flatten(1) @ chosen.flatten(1).T / (bits * temperature)
    counts = torch.bincount(labels * len(codes) + own, minlength=count * len(codes))
    return Comparison(
        similarity, own.unsqueeze(-1), labels, counts.reshape(count, len(codes)).to(marginals.dtype)
    )


def _check(first: Tensor, second: Tensor, labels: Tensor) -> None:
    """Check shapes and types.

    Raises:
        ValueError: If they do not fit.
    """
    for name, value in (("first", first), ("second", second)):
        arguments.scores(name, value, "(m, K, 2)", 3)
        if value.dim() != 3 or not 0 < value.shape[1] <= MOST_BITS or value.shape[2] != 2:
            raise ValueError(
                f"{name} has shape {tuple(value.shape)}; expected (m, K, 2): the marginals of -1 and +1 of "
                f"each of 1 to {MOST_BITS} bits of each of m spans"
            )
    if first.shape != second.shape:
        raise ValueError(
            f"second has shape {tuple(second.shape)}; expected that of first, {tuple(first.shape)}: the same "
            "spans in another view"
        )
    arguments.integers("labels", labels, f"({len(first)},)", first.device)
    if labels.shape != first.shape[:1]:
        raise ValueError(
            f"labels has shape {tuple(labels.shape)}; expected ({len(first)},), one for each span"
        )


def _check_codes(codes: tuple[Tensor, Tensor], marginals: Tensor) -> None:
    """Check shapes, types and values.

    Raises:
        ValueError: If they do not fit.
    """
    count, bits, _ = marginals.shape
    if len(codes) != 2:
        raise ValueError(f"codes holds {len(codes)} tensors; expected two, one for each view")
    for place, value in enumerate(codes):
        name = f"codes[{place}]"
        arguments.integers(name, value, f"({count},)", marginals.device)
        if value.shape != (count,):
            raise ValueError(f"{name} has shape {tuple(value.shape)}; expected ({count},), one for each span")
        if count and (value.min() < 0 or value.max() >> bits):
            raise ValueError(
                f"{name} holds {value.min()} to {value.max()}; expected codes of {bits} bits, 0 to {2**bits - 1}"
            )
