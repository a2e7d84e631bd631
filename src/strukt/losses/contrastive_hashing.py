"""Contrastive hashing: binary codes of spans, learned from labels by comparing two views of the same spans."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from strukt.checks import arguments
from strukt.kernels.full_precision import full_precision
from strukt.structures.bit_span_tree.codes import MOST_BITS, to_bits, to_codes


@full_precision
def contrastive_hashing(
    first: Tensor,
    second: Tensor,
    labels: Tensor,
    variant: str = "max",
    temperature: float = 0.1,
    codes: tuple[Tensor, Tensor] | None = None,
) -> Tensor:
    """Return the contrastive hashing loss; it is small if the codes of spans separate their labels.

    Spans are numbered 1 to m, and bits 1 to K; y_i is the label of span i and mu_k(i, c) the marginal probability
    that its bit k has value c. The code of a span consists of the more probable value of each bit, -1 for ties
    (equation 13); no gradient passes through it. The similarity of span i in one view to span j in the other view
    is the mean probability that a bit of i has the value in the code of j, divided by the temperature (equation
    14):

        s(i, j) = 1 / (K temperature) sum over k of mu_k(i, c_k(j))

    With N = {j: y_j != y_i}, P = {j: y_j = y_i} and S = {i}, the loss L of span i is

    | variant | loss | equation |
    |---|---|---|
    | ``"self"`` | -log (exp s(i, i) / sum over j in N and P of exp s(i, j)) | 15 |
    | ``"sup"`` | -(mean over p in P of log (exp s(i, p) / sum over j in N and P of exp s(i, j))) | 17 |
    | ``"hash"`` | -log (exp s(i, i) / sum over j in N and S of exp s(i, j)) | 18 |
    | ``"max"`` | -log (sum over p in P of exp s(i, p) / sum over j in N and S of exp s(i, j)) | 19 |

    The result is the mean over i of L(i, mu of ``first``, codes of ``second``) + L(i, mu of ``second``, codes of
    ``first``) (equation 20). For ``"max"`` one similar span of the same label is enough, so that a label may have
    several codes; this loss can be negative.

    Args:
        first: Marginals ``(m, K, 2)`` of the values -1 and +1 of each bit of m spans, e.g. the results of
            `BitSpanTree.bit_marginals` for the spans of the gold trees of a batch.
        second: The marginals of the same spans in a second pass, with different dropout.
        labels: ``(m,)``, the label of each span, any integers.
        variant: The loss, a row of the table above.
        temperature: The divisor of the mean probabilities.
        codes: The codes of the spans in both views, ``(m,)`` integers each, in which bit b, from 0 to K - 1,
            counts 2^b if its value is +1. If None, those of equation 13. With codes sampled from the marginals,
            the gradient of ``"max"`` also separates labels with the same most probable code.

    Returns:
        A scalar, twice differentiable in the marginals; 0 without spans.

    Raises:
        ValueError: If shapes or types do not fit, K is not 1 to 62, a code is not in 0 to 2^K - 1, the temperature
            is not positive, or the variant is unknown.

    Complexity:
        Time O(m U K), memory O(m (U + K)) for U <= min(m, 2^K) distinct codes in a view: s(i, j) depends only on
        the code of j, so that sums over spans are sums over codes, weighted by their numbers of spans.
        Waits for a GPU, to number labels and codes.

    Source:
        Wang and Utiyama (2024), "To be continuous, or to be discrete, those are bits of questions", section 3.

    Examples:
        >>> view, opposite = torch.tensor([[[0.9, 0.1]], [[0.1, 0.9]]]), torch.tensor([[[0.1, 0.9]], [[0.9, 0.1]]])
        >>> labels = torch.tensor([0, 1])
        >>> contrastive_hashing(view, view, labels), contrastive_hashing(view, opposite, labels)
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
    """The m spans of one view, compared with the U distinct codes of the other view.

    The similarity s and the sets of spans N, P and S are those of `contrastive_hashing`.

    Attributes:
        similarity: ``(m, U)``, s of each span to the spans with each code.
        code_of_span: ``(m, 1)``, the index of the code of the same span in the other view.
        labels: ``(m,)``, the labels of the spans, as numbers from 0.
        counts: ``(number of labels, U)``, the number of spans of each label with each code.
    """

    similarity: Tensor
    code_of_span: Tensor
    labels: Tensor
    counts: Tensor

    def to_itself(self) -> Tensor:
        """Return the similarity of each span to itself in the other view: ``(m,)``."""
        return self.similarity.gather(-1, self.code_of_span).squeeze(-1)

    def to_all(self) -> Tensor:
        """Return the log of the sum of exp s over N and P: ``(m,)``."""
        return self._log_sum(self.counts.sum(0).log())

    def to_label(self) -> Tensor:
        """Return the log of the sum of exp s over P, which includes the span itself: ``(m,)``."""
        return self._log_sum(self.counts.log()[self.labels])

    def to_label_mean(self) -> Tensor:
        """Return the mean similarity over P: ``(m,)``."""
        weights = self.counts / self.counts.sum(-1, keepdim=True)
        return (weights[self.labels] * self.similarity).sum(-1)

    def to_others(self) -> Tensor:
        """Return the log of the sum of exp s over N and S: ``(m,)``."""
        other_labels = self.counts.sum(0) - self.counts
        log_counts = other_labels.log()[self.labels]
        with_itself = (other_labels[self.labels, self.code_of_span.squeeze(-1)] + 1.0).log()
        return self._log_sum(log_counts.scatter_(-1, self.code_of_span, with_itself.unsqueeze(-1)))

    def _log_sum(self, log_counts: Tensor) -> Tensor:
        # Each sum has at least one term, so its largest term is finite and no derivative is NaN.
        return (self.similarity + log_counts).logsumexp(-1)


VARIANTS: dict[str, Callable[[Comparison], Tensor]] = {
    "self": lambda spans: spans.to_all() - spans.to_itself(),
    "sup": lambda spans: spans.to_all() - spans.to_label_mean(),
    "hash": lambda spans: spans.to_others() - spans.to_itself(),
    "max": lambda spans: spans.to_others() - spans.to_label(),
}
"""The variants by name: functions of a `Comparison` to the loss of each span ``(m,)``."""


def _compared(
    marginals: Tensor, others: Tensor, labels: Tensor, count: int, temperature: float
) -> Comparison:
    """Compare the spans of one view with their codes in the other view."""
    codes, code_of_span = others.unique(return_inverse=True)  # type: ignore[no-untyped-call]
    bits = marginals.shape[1]
    positive = to_bits(codes, bits)
    values = torch.stack([~positive, positive], -1).to(marginals.dtype)
    similarity = marginals.flatten(1) @ values.flatten(1).T / (bits * temperature)
    counts = torch.bincount(labels * len(codes) + code_of_span, minlength=count * len(codes))
    counts = counts.reshape(count, len(codes)).to(marginals.dtype)
    return Comparison(similarity, code_of_span.unsqueeze(-1), labels, counts)


def _check(first: Tensor, second: Tensor, labels: Tensor) -> None:
    """Raise ValueError unless shapes and types fit."""
    for name, value in (("first", first), ("second", second)):
        arguments.scores(name, value, "(m, K, 2)", 3)
        if value.dim() != 3 or not 0 < value.shape[1] <= MOST_BITS or value.shape[2] != 2:
            raise ValueError(
                f"{name} has shape {tuple(value.shape)}; expected (m, K, 2): for each of m spans and K bits "
                f"(1 to {MOST_BITS}), the marginals of -1 and +1"
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
    """Raise ValueError unless shapes, types and values of codes fit."""
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
