"""Distributions of variables during mean field, and their updates from one iteration to the next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from strukt.inference.settings import require_damping, require_one_of, require_step
from strukt.kernels.distance_tiles import is_everywhere


@dataclass(frozen=True)
class Updates:
    """The settings of mean-field updates.

    Args:
        order: ``asynchronous`` updates all heads, then all labels; ``synchronous`` updates both from the old
            distributions.
        label_weight: lambda_Z, the weight of the entropy of labels; messages to labels are divided by it.
        head_weight: lambda_H, the weight of the entropy of heads; messages to heads are divided by it. If None,
            1/d, where d is the number of labels.
        label_step: Share of the new distribution of labels in the update, above 0 and up to 1.
        head_step: Share of the new distribution of heads in the update, above 0 and up to 1.
        label_damping: Share of the previous message in a message to labels, from 0 to below 1.
        head_damping: Share of the previous message in a message to heads, from 0 to below 1.
        normaliser: Maps messages, and the initial scores, to distributions: ``softmax``; or ``relu``, which
            divides the positive parts of messages by their sum, and returns zeros if no message is positive.
        weighted_start: Whether labels start from the scores S of words divided by lambda_Z, as in equation 7 of Wu
            and Tu (2023), not from S.

    Raises:
        ValueError: If a name is unknown or a number is out of its range.

    Examples:
        >>> from strukt.nn import ProbabilisticTransformer
        >>> damped = Updates(order="synchronous", label_damping=0.5, head_damping=0.5)
        >>> model = ProbabilisticTransformer(labels=16, channels=4, rank=8, updates=damped)
        >>> Updates(normaliser="relu").normalised(torch.tensor([3.0, 1.0, -2.0]))
        tensor([0.7500, 0.2500, 0.0000])
    """

    order: Literal["asynchronous", "synchronous"] = "asynchronous"
    label_weight: float = 1.0
    head_weight: float | None = None
    label_step: float = 1.0
    head_step: float = 1.0
    label_damping: float = 0.0
    head_damping: float = 0.0
    normaliser: Literal["softmax", "relu"] = "softmax"
    weighted_start: bool = False

    def __post_init__(self) -> None:
        require_one_of("order", self.order, ("asynchronous", "synchronous"))
        require_one_of("normaliser", self.normaliser, ("softmax", "relu"))
        for name in ("label_weight", "head_weight"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name} is {value}; expected more than 0")
        for name in ("label_step", "head_step"):
            require_step(getattr(self, name), name)
        for name in ("label_damping", "head_damping"):
            require_damping(getattr(self, name), name)

    def first_labels(self, scores: Tensor) -> Tensor:
        """Return the initial distributions of labels, before any message.

        Args:
            scores: ``(batch, n, d)``, the scores S of d labels of n words.

        Returns:
            ``(batch, n, d)``.
        """
        return self.normalised(scores / self.label_weight if self.weighted_start else scores)

    def labels(self, old: Belief, message: Tensor, dropout: Callable[[Tensor], Tensor]) -> Belief:
        """Return the distributions of labels after a message.

        Args:
            old: The distributions before, with their message.
            message: The new message, in the shape of the distributions.
            dropout: Applied to the damped message.

        Returns:
            The damped message after dropout, and the distributions, in the shape of the old ones.
        """
        message = dropout(_mixed(message, old.message, 1 - self.label_damping))
        new = self.normalised(message / self.label_weight)
        return Belief(message, _mixed(new, old.probabilities, self.label_step))

    def heads(self, old: Belief, message: Tensor, weight: float, places: PossibleHeads | None) -> Belief:
        """Return the distributions of heads, or of another variable if `places` is None, after a message.

        Args:
            old: The distributions before, with their message.
            message: The new message, in the shape of the distributions.
            weight: The weight of the entropy, by which messages are divided.
            places: The possible heads; None for a variable whose values are all possible.

        Returns:
            The damped message, or a scalar 0 without damping, and the distributions, in the shape of the old ones.
        """
        message = _mixed(message, old.message, 1 - self.head_damping)
        if places is None:
            new = self.normalised(message / weight)
        else:
            new = places.normalised(message, 1 / weight, self.normalised)
        kept = message if self.head_damping else message.new_zeros(())  # n x n entries: kept for damping only
        return Belief(kept, _mixed(new, old.probabilities, self.head_step))

    def normalised(self, messages: Tensor) -> Tensor:
        """Normalise messages to distributions over the last axis; the shape stays the same."""
        if self.normaliser == "softmax":
            return messages.softmax(-1)
        positive = messages.relu()
        total = positive.sum(-1, keepdim=True)
        return positive / torch.where(total > 0, total, 1.0)


class Belief(NamedTuple):
    """The distributions of variables, and the last message to them, or a scalar 0 if no update needs it."""

    message: Tensor
    probabilities: Tensor


class Beliefs(NamedTuple):
    """The beliefs of all variables, for n words, h channels and d labels.

    Attributes:
        labels: The labels of words, ``(batch, n, d)``.
        heads: The heads, ``(batch, h, n, n + k)``: n words and k other heads, the root and the features.
        features: The choices of global features, if they are separate from heads, ``(batch, h, n, m)`` for m
            features, or ``(batch, 1, n, m)`` if all channels share one choice; else None.
        root: The label of the root, ``(batch, d_root)``; None without a root.
        dependency_labels: The labels of dependencies, ``(batch, h, n, l)`` for l labels; None without them.
    """

    labels: Belief
    heads: Belief
    features: Belief | None
    root: Belief | None
    dependency_labels: Belief | None


def uniform(like: Tensor, *shape: int) -> Belief:
    """Return uniform distributions of a shape, with messages of 0, in the dtype and on the device of ``like``."""
    zeros = like.new_zeros(shape)
    return Belief(zeros, zeros.softmax(-1))


class PossibleHeads:
    """The possible heads of each word: the other words of the sentence, or in a causal model the words before it.

    Args:
        inside: ``(batch, n)``, True for words, False for padding.
        causal: Whether heads are always to the left of their dependents.
    """

    def __init__(self, inside: Tensor, causal: bool) -> None:
        self.inside, self.causal = inside, causal
        self._known: tuple[Tensor, Tensor | None] | None = None

    def _possible(self) -> tuple[Tensor, Tensor | None]:
        """Return scores of 0, or -inf for impossible heads, ``(batch, 1, n, n)``; and words without any head.

        The latter are a mask ``(batch, 1, n, 1)``, or None if all words are known to have one. Both are computed
        once, if at all. Adding scores is five times as fast as masking.
        """
        if self._known is None:
            n = self.inside.shape[1]
            never = torch.ones(n, n, dtype=torch.bool, device=self.inside.device).triu()
            never = never if self.causal else never.tril()
            forbidden = (never | ~self.inside.unsqueeze(1)).unsqueeze(1)
            headless = forbidden.all(-1, keepdim=True)
            scores = torch.zeros(forbidden.shape, device=forbidden.device).masked_fill(forbidden, -torch.inf)
            self._known = scores, None if is_everywhere(~headless) else headless
        return self._known

    def normalised(self, messages: Tensor, scale: float, normalise: Callable[[Tensor], Tensor]) -> Tensor:
        """Return distributions of heads, ``(batch, h, n, n + k)``: over n words, and k other heads for any word.

        The distribution of a word without any possible head is 0.

        Args:
            messages: ``(batch, h, n, n + k)``.
            scale: Factor of the messages.
            normalise: Maps scaled messages to distributions.
        """
        n = self.inside.shape[1]
        beside = messages.shape[-1] - n
        scores, headless = self._possible()
        scores = scores.to(messages.dtype)
        if beside:
            return normalise(torch.add(functional.pad(scores, (0, beside)), messages, alpha=scale))
        if headless is None:
            return normalise(torch.add(scores, messages, alpha=scale))
        # The softmax of a word without possible heads would be NaN.
        result = normalise(torch.add(scores.masked_fill(headless, 0.0), messages, alpha=scale))
        return result.masked_fill(headless, 0.0)


def _mixed(new: Tensor, old: Tensor, share: float) -> Tensor:
    return new if share == 1 else share * new + (1 - share) * old
