"""Distributions of variables on the way of mean field, and how they go from one iteration to the next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from strukt.inference.settings import require_damping, require_one_of, require_step


@dataclass(frozen=True)
class Updates:
    """How mean field goes from one product of distributions to the next.

    Args:
        order: All heads and then all labels, or all from the old ones.
        label_weight: lambda_Z, the weight of the entropy of labels: messages are divided by it.
        head_weight: lambda_H, the same of heads; 1/d if None.
        label_step: Share of the new distribution of labels, above 0 and up to 1; the rest stays the old one.
        head_step: The same of heads.
        label_damping: Share of the old message that a message to labels keeps, from 0 to below 1.
        head_damping: The same of messages to heads.
        normaliser: What makes distributions of messages, the first ones of the scores too: the softmax, or
            positive parts divided by their sum, which give nothing to a word that has no positive message.
        weighted_start: Whether the first distributions of labels are those of S / lambda_Z, not of S (equation 7).
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
        """The distributions of labels before any message."""
        return self.normalised(scores / self.label_weight if self.weighted_start else scores)

    def labels(self, old: Belief, message: Tensor, dropout: Callable[[Tensor], Tensor]) -> Belief:
        """New distributions of labels after a message to them, which goes through dropout when it is damped."""
        message = dropout(_mixed(message, old.message, 1 - self.label_damping))
        found = self.normalised(message / self.label_weight)
        return Belief(message, _mixed(found, old.probabilities, self.label_step))

    def heads(self, old: Belief, message: Tensor, weight: float, places: Places | None) -> Belief:
        """New distributions of heads, or of other choices if there are no places."""
        message = _mixed(message, old.message, 1 - self.head_damping)
        if places is None:
            found = self.normalised(message / weight)
        else:
            found = places.normalised(message, 1 / weight, self.normalised)
        kept = message if self.head_damping else message.new_zeros(())  # it is as large as n x n
        return Belief(kept, _mixed(found, old.probabilities, self.head_step))

    def normalised(self, messages: Tensor) -> Tensor:
        """Distributions over the last axis."""
        if self.normaliser == "softmax":
            return messages.softmax(-1)
        positive = messages.relu()
        total = positive.sum(-1, keepdim=True)
        return positive / torch.where(total > 0, total, 1.0)


class Belief(NamedTuple):
    """The message to some variables, as far as the next one needs it, and their distributions."""

    message: Tensor
    probabilities: Tensor


class Beliefs(NamedTuple):
    """Those of all variables: labels of words, heads, global features chosen apart, the root, and dependencies."""

    labels: Belief
    heads: Belief
    features: Belief | None
    root: Belief | None
    dependency_labels: Belief | None


def uniform(like: Tensor, *shape: int) -> Belief:
    """What is known of variables of which nothing is known."""
    zeros = like.new_zeros(shape)
    return Belief(zeros, zeros.softmax(-1))


class Places:
    """Which words are there, and which of them may be the head of which.

    Args:
        inside: ``(batch, n)``, whether there is a word.
        causal: Whether heads stand to the left.
    """

    def __init__(self, inside: Tensor, causal: bool) -> None:
        self.inside, self.causal = inside, causal

    @cached_property
    def _forbidden(self) -> Tensor:
        n = self.inside.shape[1]
        never = torch.ones(n, n, dtype=torch.bool, device=self.inside.device).triu()
        never = never if self.causal else never.tril()
        return (never | ~self.inside.unsqueeze(1)).unsqueeze(1)

    @cached_property
    def _headless(self) -> Tensor | None:
        """The words that can have no head, ``(batch, 1, n, 1)``; None if there is no such word."""
        headless = self._forbidden.all(-1, keepdim=True)
        return headless if bool(headless.any()) else None

    @cached_property
    def _scores(self) -> Tensor:
        """0 or -inf; added, not filled in, which takes a fifth of the time."""
        scores = torch.zeros(self._forbidden.shape, device=self.inside.device)
        return scores.masked_fill_(self._forbidden, -torch.inf)

    def normalised(self, messages: Tensor, scale: float, normalise: Callable[[Tensor], Tensor]) -> Tensor:
        """Distributions of heads ``(batch, h, n, n + k)``: of the words, and of k values that all may have.

        Args:
            messages: Of the same shape.
            scale: By which they are multiplied.
            normalise: What makes distributions of them.
        """
        n = self.inside.shape[1]
        beside = messages.shape[-1] - n
        scores = self._scores.to(messages.dtype)
        if beside:
            return normalise(torch.add(functional.pad(scores, (0, beside)), messages, alpha=scale))
        if self._headless is None:
            return normalise(torch.add(scores, messages, alpha=scale))
        # A softmax over nothing would be no number.
        found = normalise(torch.add(scores.masked_fill(self._headless, 0.0), messages, alpha=scale))
        return found.masked_fill(self._headless, 0.0)


def _mixed(new: Tensor, old: Tensor, share: float) -> Tensor:
    return new if share == 1 else share * new + (1 - share) * old
