"""The Probabilistic Transformer: mean field in a model of labels and heads, unrolled, as an encoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from strukt.kernels.distance_buckets import Buckets
from strukt.nn.encoders import mask_of
from strukt.nn.head_values import GlobalFeatures, Root
from strukt.nn.ternary import UV, UVW, FullTernary, Ternary, WeightedUV


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
        normaliser: What makes distributions of messages: the softmax, or positive parts divided by their sum.
    """

    order: Literal["asynchronous", "synchronous"] = "asynchronous"
    label_weight: float = 1.0
    head_weight: float | None = None
    label_step: float = 1.0
    head_step: float = 1.0
    label_damping: float = 0.0
    head_damping: float = 0.0
    normaliser: Literal["softmax", "relu"] = "softmax"

    def __post_init__(self) -> None:
        _require_one_of("order", self.order, ("asynchronous", "synchronous"))
        _require_one_of("normaliser", self.normaliser, ("softmax", "relu"))
        for name in ("label_weight", "head_weight"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name} is {value}; expected more than 0")
        for name in ("label_step", "head_step"):
            if not 0 < getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}; expected more than 0, and at most 1")
        for name in ("label_damping", "head_damping"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; expected at least 0, and less than 1")


class Encoding(NamedTuple):
    """What mean field says of the words of sentences.

    Attributes:
        scores: ``(batch, n, d)``, what the labels' probabilities are normalised from; 0 in the padding.
        labels: ``(batch, n, d)``, Q(Z); 0 in the padding.
        heads: ``(batch, h, n, n)``, ``[c, i, j]`` is the probability that word j is the head of word i in channel
            c; 0 in the padding, and for a word that can have no head.
        root_heads: ``(batch, h, n)``, that the root is the head; None without root.
        features: That one of m global features is the head: ``(batch, h, n, m)``, or ``(batch, 1, n, m)`` for one
            that all channels share; None without them.
        root: ``(batch, d_root)``, the distribution of the label of the root, which stands for the sentence.
    """

    scores: Tensor
    labels: Tensor
    heads: Tensor
    root_heads: Tensor | None
    features: Tensor | None
    root: Tensor | None


class _Belief(NamedTuple):
    """The message to some variables, and their distributions."""

    message: Tensor
    probabilities: Tensor


class _Beliefs(NamedTuple):
    labels: _Belief
    heads: _Belief
    features: _Belief | None
    root: _Belief | None


class ProbabilisticTransformer(nn.Module):
    """Labels of words, and in each channel a head of each word, that know of each other by mean field.

    Each word has a label from d and in each of h channels a head among the other words. A sentence has the score
    sum_i S[i, Z_i] + sum_ic T^(c)[Z_i, Z_j] where j is the head of i in channel c. With Q the product of
    independent distributions, an iteration is

        F_c = Qz T^(c) Qz',   Qh_c = softmax(F_c / lambda_H),
        G = sum_c (Qh_c Qz T^(c)' + Qh_c' Qz T^(c)),   Qz = softmax((S + G) / lambda_Z),

    where T^(c) depends on the distance of the two words (`Buckets`). All variants of the source are options.

    Args:
        labels: d.
        channels: h.
        iterations: How often all distributions are updated.
        rank: r of the decomposition.
        distance: g, up to which each distance has scores of its own; None for scores that do not depend on it.
        decomposition: ``full`` tables; ``uv``; ``uvw``, where channels share factors; or ``weighted``, where
            distances do, which takes two projections in place of two for each distance (`strukt.nn.ternary`).
        symmetric: Whether T is symmetric, and G is 2 sum_c Qh_c Qz T^(c)', as in attention with tied projections
            (equation 20).
        causal: Whether heads stand to the left, and tell their dependents but are told nothing by them, so that
            nothing depends on words to the right.
        tells_heads: Whether words tell their heads, the second term of G.
        root_labels: Labels of a root that may be the head of every word, too; 0 for none.
        features: m, number of global features that words may choose; 0 for none.
        feature_choice: How: ``all-dep``, as heads beside the words; ``dep-split``, by a choice of its own in each
            channel; ``single-split``, by one choice, which is the counterpart of a feed-forward layer.
        updates: The course of mean field.
        dropout: Of the probabilities of heads, and of the scores of labels after each update.

    An iteration takes O(n^2 h r + g n d h r) time, and for the gradient keeps O(n^2 h) numbers.

    Source: Wu and Tu (2023), "Probabilistic Transformer: a probabilistic dependency model for contextual word
    representation".

    Examples:
        >>> model = ProbabilisticTransformer(labels=16, channels=4, iterations=2, rank=8, root_labels=8)
        >>> found = model(torch.randn(2, 5, 16), torch.tensor([5, 3]))
        >>> found.labels.shape, found.heads.shape, found.root.shape
        (torch.Size([2, 5, 16]), torch.Size([2, 4, 5, 5]), torch.Size([2, 8]))
        >>> (found.heads.sum(-1) + found.root_heads)[1, 0].detach().round()
        tensor([1., 1., 1., 0., 0.])
    """

    def __init__(
        self,
        labels: int,
        channels: int = 8,
        iterations: int = 4,
        rank: int = 64,
        *,
        distance: int | None = 3,
        decomposition: Literal["full", "uv", "uvw", "weighted"] = "uv",
        symmetric: bool = False,
        causal: bool = False,
        tells_heads: bool = True,
        root_labels: int = 0,
        features: int = 0,
        feature_choice: Literal["all-dep", "dep-split", "single-split"] = "single-split",
        updates: Updates | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        _require_sizes(labels=labels, channels=channels, iterations=iterations, rank=rank)
        _require_one_of("decomposition", decomposition, ("full", *_FACTORED))
        _require_one_of("feature_choice", feature_choice, ("all-dep", "dep-split", "single-split"))
        if distance is not None and distance < 0:
            raise ValueError(f"distance is {distance}; expected at least 0, or None")
        self.labels, self.channels, self.iterations = labels, channels, iterations
        self.symmetric, self.causal = symmetric, causal
        self.tells_heads = tells_heads and not causal and not symmetric
        self.updates = updates or Updates()
        self.dropout = nn.Dropout(dropout)
        self.ternary = _ternary(decomposition, labels, channels, Buckets(distance), rank, symmetric)
        self.root = Root(labels, channels, root_labels) if root_labels else None
        self.among_heads = feature_choice == "all-dep"
        of_channels = 1 if feature_choice == "single-split" else channels
        self.features = GlobalFeatures(labels, of_channels, features) if features else None

    def forward(self, scores: Tensor, lengths: Tensor | None = None) -> Encoding:
        """Mean field from independent variables.

        Args:
            scores: S, ``(batch, n, d)``, the scores of the labels of each word; the padding is ignored.
            lengths: ``(batch,)``; all n if None.
        """
        if scores.dim() != 3 or scores.shape[-1] != self.labels:
            raise ValueError(
                f"scores has shape {tuple(scores.shape)}; expected (batch, n, {self.labels}), a score per label"
            )
        batch, n, _ = scores.shape
        inside = mask_of(torch.full((batch,), n, device=scores.device) if lengths is None else lengths, n)
        scores = scores.masked_fill(~inside.unsqueeze(-1), 0.0)
        places = _Places(inside, self._forbidden(inside))
        beliefs = self._independent(scores, places)
        for _ in range(self.iterations):
            beliefs = self._updated(beliefs, scores, places)
        return self._encoding(beliefs, inside)

    def penalty(self) -> Tensor:
        """The sum of the squares of all scores T, for an L2 penalty."""
        return self.ternary.penalty()

    def tied_attention(self) -> tuple[Tensor, Tensor, Tensor]:
        """Projections of the attention that the symmetric model is: of queries, of keys and values, and the scale.

        G = 2 sum_c softmax(scale (Qz U_c) (Qz V_c)') (Qz V_c) U_c' (equation 28), with U ``(h, d, r)`` and V.

        Raises:
            ValueError: If the model is not symmetric, or depends on the distance.
        """
        if not self.symmetric or self.ternary.buckets.reach is not None:
            raise ValueError("only a symmetric model with distance=None is attention with tied projections")
        left, right = self.ternary.factors()
        return left[0], right[0], left.new_tensor(1 / self._head_weight)

    @property
    def _head_weight(self) -> float:
        weight = self.updates.head_weight
        return 1 / self.labels if weight is None else weight

    def _forbidden(self, inside: Tensor) -> Tensor:
        """Which words cannot be the head of which: ``(batch, n, n)``."""
        n = inside.shape[1]
        never = torch.ones(n, n, dtype=torch.bool, device=inside.device)
        never = never.triu() if self.causal else never.triu().tril()
        return never | ~inside.unsqueeze(1)

    def _independent(self, scores: Tensor, places: _Places) -> _Beliefs:
        """Labels as their own scores say, all else uniform."""
        batch, n, _ = scores.shape
        labels = self._normalised(scores / self.updates.label_weight) * places.inside.unsqueeze(-1)
        none = scores.new_zeros(batch, self.channels, n, n + self._beside)
        features, root = self._split_features, None
        chosen = None
        if features is not None:
            zeros = scores.new_zeros(batch, features.channels, n, features.count)
            chosen = _Belief(zeros, zeros.softmax(-1))
        if self.root is not None:
            zeros = scores.new_zeros(batch, self.root.labels)
            root = _Belief(zeros, zeros.softmax(-1))
        uniform = places.normalised(none, torch.softmax) if self._needs_start else none
        return _Beliefs(_Belief(scores, labels), _Belief(none, uniform), chosen, root)

    @property
    def _needs_start(self) -> bool:
        """Whether the first distributions of heads matter."""
        return self.updates.order == "synchronous" or self.updates.head_step < 1

    @property
    def _split_features(self) -> GlobalFeatures | None:
        """The global features that are chosen apart from the heads."""
        return None if self.among_heads else self.features

    @property
    def _beside(self) -> int:
        """How many values a head has beside the words."""
        features = self.features.count if self.features is not None and self.among_heads else 0
        return features + (self.root is not None)

    def _updated(self, old: _Beliefs, scores: Tensor, places: _Places) -> _Beliefs:
        new = old._replace(heads=self._heads(old, places), features=self._choices(old))
        told = new if self.updates.order == "asynchronous" else old
        return new._replace(labels=self._labels(told, scores, places), root=self._root(told))

    def _heads(self, old: _Beliefs, places: _Places) -> _Belief:
        labels = old.labels.probabilities
        parts = [self.ternary(labels)]
        if self.root is not None and old.root is not None:
            parts.append(self.root(labels, old.root.probabilities).unsqueeze(-1))
        if self.features is not None and self.among_heads:
            parts.append(self.features(labels))
        message = torch.cat(parts, -1) if len(parts) > 1 else parts[0]
        return self._moved_heads(old.heads, message, places)

    def _choices(self, old: _Beliefs) -> _Belief | None:
        """The global features that words choose, apart from their heads."""
        features = self._split_features
        if features is None or old.features is None:
            return None
        return self._moved_heads(old.features, features(old.labels.probabilities), None)

    def _moved_heads(self, old: _Belief, message: Tensor, places: _Places | None) -> _Belief:
        message = _mixed(message, old.message, 1 - self.updates.head_damping)
        # One choice of a feature, which is for no channel, has weight 1, as in a feed-forward layer.
        alone = places is None and message.shape[1] == 1
        found = message / (1.0 if alone else self._head_weight)
        found = self._normalised(found) if places is None else places.normalised(found, self._normalise)
        return _Belief(message, _mixed(self.dropout(found), old.probabilities, self.updates.head_step))

    def _labels(self, old: _Beliefs, scores: Tensor, places: _Places) -> _Belief:
        labels, heads = old.labels.probabilities, old.heads.probabilities
        n = labels.shape[1]
        message = scores + self._from_words(heads[..., :n], labels)
        if self.root is not None and old.root is not None:
            message = message + self.root.to_labels(heads[..., n], old.root.probabilities)
        if self.features is not None:
            split = (
                old.features.probabilities if old.features is not None else heads[..., -self.features.count :]
            )
            message = message + self.features.to_labels(split)
        message = self.dropout(_mixed(message, old.labels.message, 1 - self.updates.label_damping))
        found = self._normalised(message / self.updates.label_weight) * places.inside.unsqueeze(-1)
        return _Belief(message, _mixed(found, labels, self.updates.label_step))

    def _from_words(self, heads: Tensor, labels: Tensor) -> Tensor:
        """G, what words tell each other."""
        found = self.ternary.to_dependents(heads, labels)
        if self.symmetric:
            return 2 * found
        return found + self.ternary.to_heads(heads, labels) if self.tells_heads else found

    def _root(self, old: _Beliefs) -> _Belief | None:
        if self.root is None or old.root is None:
            return None
        labels, heads = old.labels.probabilities, old.heads.probabilities
        message = self.root.to_root(heads[..., labels.shape[1]], labels)
        message = _mixed(message, old.root.message, 1 - self.updates.label_damping)
        found = self._normalised(message / self.updates.label_weight)
        return _Belief(message, _mixed(found, old.root.probabilities, self.updates.label_step))

    def _normalised(self, messages: Tensor) -> Tensor:
        return self._normalise(messages, -1)

    def _normalise(self, messages: Tensor, dim: int) -> Tensor:
        if self.updates.normaliser == "softmax":
            return messages.softmax(dim)
        positive = messages.relu()
        total = positive.sum(dim, keepdim=True)
        return positive / torch.where(total > 0, total, 1.0)

    def _encoding(self, beliefs: _Beliefs, inside: Tensor) -> Encoding:
        n = inside.shape[1]
        heads = beliefs.heads.probabilities * inside[:, None, :, None]
        features = None
        if beliefs.features is not None:
            features = beliefs.features.probabilities * inside[:, None, :, None]
        elif self.features is not None:
            features = heads[..., -self.features.count :]
        return Encoding(
            beliefs.labels.message.masked_fill(~inside.unsqueeze(-1), 0.0),
            beliefs.labels.probabilities,
            heads[..., :n],
            None if self.root is None else heads[..., n],
            features,
            None if beliefs.root is None else beliefs.root.probabilities,
        )


class _Places:
    """Which words are there, and which of them may be the head of which."""

    def __init__(self, inside: Tensor, forbidden: Tensor) -> None:
        self.inside = inside
        self._forbidden = forbidden.unsqueeze(1)
        self._headless = self._forbidden.all(-1, keepdim=True)
        self._some_headless = bool(self._headless.any())

    def normalised(self, messages: Tensor, normalise: Callable[[Tensor, int], Tensor]) -> Tensor:
        """Distributions of heads ``(batch, h, n, n + k)``: of the words, and of k values that all may have."""
        n = self.inside.shape[1]
        beside = messages.shape[-1] - n
        forbidden, headless = self._forbidden, self._headless
        if beside:
            forbidden = functional.pad(forbidden, (0, beside), value=False)
        elif self._some_headless:
            forbidden = forbidden & ~headless  # a softmax over nothing would be no number
        found = normalise(messages.masked_fill(forbidden, -torch.inf), -1)
        return found.masked_fill(headless, 0.0) if self._some_headless and not beside else found


def _mixed(new: Tensor, old: Tensor, share: float) -> Tensor:
    return new if share == 1 else share * new + (1 - share) * old


_FACTORED: dict[str, type[UV | UVW | WeightedUV]] = {"uv": UV, "uvw": UVW, "weighted": WeightedUV}


def _ternary(
    decomposition: str, labels: int, channels: int, buckets: Buckets, rank: int, symmetric: bool
) -> Ternary:
    if decomposition == "full":
        return FullTernary(labels, channels, buckets, symmetric)
    return _FACTORED[decomposition](labels, channels, buckets, rank, symmetric)


def _require_one_of(name: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise ValueError(f"{name} is {value!r}; expected {', '.join(known[:-1])} or {known[-1]}")


def _require_sizes(**sizes: int) -> None:
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"{name} is {size}; expected at least 1")
