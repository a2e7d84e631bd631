"""The Probabilistic Transformer: mean field in a model of labels and heads, unrolled, as an encoder."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from strukt.checks import arguments
from strukt.checks.lengths import Lengths
from strukt.inference.settings import require_one_of
from strukt.kernels.distance_buckets import Buckets
from strukt.nn.beliefs import Belief, Beliefs, Places, Updates, uniform
from strukt.nn.biased_ternary import BiasedUV
from strukt.nn.dependency_labels import expected_scores, label_scores, labelled_heads
from strukt.nn.encoders import mask_of
from strukt.nn.head_values import GlobalFeatures, Root
from strukt.nn.inputs import require_sizes
from strukt.nn.ternary import UV, UVW, FullTernary, Ternary, WeightedUV


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
        root_scores: ``(batch, d_root)``, what it is normalised from.
        dependency_labels: ``(batch, h, n, m)``, the distribution of the label of the dependency of each word in
            each channel; 0 in the padding. None without them.
    """

    scores: Tensor
    labels: Tensor
    heads: Tensor
    root_heads: Tensor | None
    features: Tensor | None
    root: Tensor | None
    root_scores: Tensor | None = None
    dependency_labels: Tensor | None = None


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
        shared: Whether scores that all distances share are added to those of each distance, which the source does
            not have: 2g + 3 tables in place of 2g + 2 (equations 9 and 10). Not for ``weighted`` and ``biased``.
        decomposition: ``full`` tables; ``uv``; ``uvw``, where channels share factors; ``weighted``, where
            distances do, which takes two projections in place of two for each distance; or ``biased``, where they
            do and each has a score of its own for heads alone (`strukt.nn.ternary`).
        symmetric: Whether T is symmetric.
        symmetric_messages: What a symmetric model tells labels: ``doubled``, G = 2 sum_c Qh_c Qz T^(c)', which is
            attention with tied projections (equation 20); or ``both``, what heads and dependents tell (equation
            16), which is another model, for Qh_c is not symmetric.
        causal: Whether heads stand to the left, and tell their dependents but are told nothing by them, so that
            nothing depends on words to the right.
        tells_heads: Whether words tell their heads, the second term of G.
        dependency_labels: m, number of labels of a dependency: a variable beside each head, on which the scores
            T^(c) depend (those of a root and of global features do not), as the source proposes for further work;
            0 for none.
        root_labels: Labels of a root that may be the head of every word, too; 0 for none. A causal model has no
            root, of which words would hear what others to the right have told it.
        features: m, number of global features that words may choose; 0 for none.
        feature_choice: How: ``all-dep``, as heads beside the words; ``dep-split``, by a choice of its own in each
            channel; ``single-split``, by one choice, which is the counterpart of a feed-forward layer.
        updates: The course of mean field.
        dropout: Of the probabilities of heads, and of the scores of labels, the root's too, after each update.

    An iteration takes O(n^2 h r + g n d h r) time, and for the gradient keeps O(n^2 h + g n h r) numbers, or
    O(g n h r) where nothing but labels of words depends on heads (`label_scores`).

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
        shared: bool = False,
        decomposition: Literal["full", "uv", "uvw", "weighted", "biased"] = "uv",
        symmetric: bool = False,
        symmetric_messages: Literal["doubled", "both"] = "doubled",
        causal: bool = False,
        tells_heads: bool = True,
        dependency_labels: int = 0,
        root_labels: int = 0,
        features: int = 0,
        feature_choice: Literal["all-dep", "dep-split", "single-split"] = "single-split",
        updates: Updates | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        require_sizes(labels=labels, channels=channels, iterations=iterations, rank=rank)
        require_one_of("decomposition", decomposition, ("full", *_FACTORED))
        require_one_of("symmetric_messages", symmetric_messages, ("doubled", "both"))
        require_one_of("feature_choice", feature_choice, ("all-dep", "dep-split", "single-split"))
        if distance is not None and distance < 0:
            raise ValueError(f"distance is {distance}; expected at least 0, or None")
        sizes = {"root_labels": root_labels, "features": features, "dependency_labels": dependency_labels}
        for name, size in sizes.items():
            if size < 0:
                raise ValueError(f"{name} is {size}; expected at least 0")
        if causal and root_labels:
            raise ValueError(
                f"root_labels is {root_labels} in a causal model, where words would tell each other by the root "
                "what stands to their right; expected 0"
            )
        self.labels, self.channels, self.iterations = labels, channels, iterations
        self.doubled, self.causal = symmetric and symmetric_messages == "doubled", causal
        self.tells_heads = tells_heads and not causal and not self.doubled
        self.updates = updates or Updates()
        self.dropout = nn.Dropout(dropout)
        self.dependency_labels = dependency_labels
        tables = channels * max(dependency_labels, 1)
        self.ternary = _ternary(decomposition, labels, tables, Buckets(distance, shared), rank, symmetric)
        self.root = Root(labels, channels, root_labels) if root_labels else None
        self.among_heads = feature_choice == "all-dep"
        self.shared_choice = feature_choice == "single-split"
        of_channels = 1 if self.shared_choice else channels
        self.features = GlobalFeatures(labels, of_channels, features) if features else None

    def forward(self, scores: Tensor, lengths: Lengths | None = None) -> Encoding:
        """Mean field from independent variables.

        Args:
            scores: S, ``(batch, n, d)``, the scores of the labels of each word, of which at least one is above
                -inf; the padding is ignored. Scores of half types are computed in float32, also under autocast;
                weights are float32 or float64.
            lengths: ``(batch,)``; all n if None.
        """
        beliefs, inside = self._beliefs(scores, lengths, with_heads=True)
        return self._encoding(beliefs, inside)

    def label_scores(self, scores: Tensor, lengths: Lengths | None = None) -> Tensor:
        """`Encoding.scores` alone, ``(batch, n, d)``, as `forward` takes its arguments.

        Nothing as large as n x n is kept, forwards or backwards, if updates are asynchronous, and those of heads
        undamped softmaxes without dropout. A root, labels of dependencies, features among the heads, and scores
        that all distances share need heads for all pairs.
        """
        beliefs, inside = self._beliefs(scores, lengths, with_heads=False)
        return _label_scores(beliefs, inside)

    def _beliefs(self, scores: Tensor, lengths: Lengths | None, with_heads: bool) -> tuple[Beliefs, Tensor]:
        """The distributions after all iterations, those of heads if they are wanted, and which words there are."""
        if scores.dim() != 3 or scores.shape[-1] != self.labels:
            raise ValueError(
                f"scores has shape {tuple(scores.shape)}; expected (batch, n, {self.labels}), a score per label"
            )
        batch, n, _ = scores.shape
        inside = mask_of(arguments.lengths(lengths, torch.Size([batch]), n, scores.device), n)
        scores = scores.float() if scores.dtype.itemsize < 4 else scores
        scores = scores.masked_fill(~inside.unsqueeze(-1), 0.0)
        places = Places(inside, self.causal)
        # Messages to heads are multiplied by d, and the rounding of half types with them.
        with torch.autocast(scores.device.type, enabled=False):
            beliefs = self._independent(scores, places)
            for left in reversed(range(self.iterations)):
                heads_wanted = with_heads and not left
                updated = self._updated if heads_wanted or not self._heads_unseen else self._updated_labels
                beliefs = updated(beliefs, scores, places)
        return beliefs, inside

    def penalty(self) -> Tensor:
        """The sum of the squares of all scores T, for an L2 penalty."""
        return self.ternary.penalty()

    def norm(self) -> Tensor:
        """The norm of all scores T, the regulariser of the source."""
        return self.ternary.norm()

    def tied_attention(self) -> tuple[Tensor, Tensor, Tensor]:
        """Projections of the attention that the symmetric model is: of queries, of keys and values, and the scale.

        G = 2 sum_c softmax(scale (Qz U_c) (Qz V_c)') (Qz V_c) U_c' (equation 28), with U ``(h, d, r)`` and V.

        Raises:
            ValueError: If the model is not symmetric with doubled messages, depends on the distance, or has
                labels of dependencies.
        """
        ternary = self.ternary
        distances = ternary.distances if isinstance(ternary, BiasedUV) else ternary.buckets
        if not self.doubled or distances.reach is not None or self.dependency_labels:
            raise ValueError(
                "only a symmetric model with doubled messages, distance=None and no dependency_labels is attention"
                " with tied projections"
            )
        left, right = ternary.factors()
        return left[0], right[0], left.new_tensor(1 / self._head_weight)

    @property
    def _head_weight(self) -> float:
        weight = self.updates.head_weight
        return 1 / self.labels if weight is None else weight

    def _independent(self, scores: Tensor, places: Places) -> Beliefs:
        """Labels as their own scores say, all else uniform."""
        batch, n, _ = scores.shape
        updates, beside, split = self.updates, self._beside, self._split_features
        labels = updates.first_labels(scores) * places.inside.unsqueeze(-1)
        heads = none = scores.new_zeros(()).expand(batch, self.channels, n, n + beside)
        if updates.order == "synchronous" or updates.head_step < 1:
            heads = places.normalised(none, 1.0, lambda messages: messages.softmax(-1))
        return Beliefs(
            Belief(scores, labels),
            Belief(none, heads),
            None if split is None else uniform(scores, batch, split.channels, n, split.count),
            None if self.root is None else uniform(scores, batch, self.root.labels),
            uniform(scores, batch, self.channels, n, labelled) if (labelled := self.dependency_labels) else None,
        )

    @property
    def _split_features(self) -> GlobalFeatures | None:
        """The global features that are chosen apart from the heads."""
        return None if self.among_heads else self.features

    @property
    def _beside(self) -> int:
        """How many values a head has beside the words."""
        features = self.features.count if self.features is not None and self.among_heads else 0
        return features + (self.root is not None)

    def _updated(self, old: Beliefs, scores: Tensor, places: Places) -> Beliefs:
        rows = self.ternary.rows(old.labels.probabilities)
        pairs = self.ternary(rows)
        new = old._replace(heads=self._heads(old, pairs, places), features=self._choices(old))
        told = new if self.updates.order == "asynchronous" else old
        new = new._replace(dependency_labels=self._dependency_labels(told, pairs))
        del pairs  # as large as n x n
        told = self._dropped(new if self.updates.order == "asynchronous" else old)
        message = scores + self._from_words(told, rows)
        return new._replace(labels=self._labels(told, message, places), root=self._root(told))

    @property
    def _heads_unseen(self) -> bool:
        """True if labels of words are all that depends on heads, which are then never held for all pairs."""
        updates = self.updates
        return (
            self.ternary.in_blocks
            and (updates.order, updates.normaliser) == ("asynchronous", "softmax")
            and updates.head_step == 1
            and not (updates.head_damping or self.dependency_labels or self._beside)
            and not (self.training and self.dropout.p)
        )

    def _updated_labels(self, old: Beliefs, scores: Tensor, places: Places) -> Beliefs:
        """The same as `_updated`, but for heads, which stay as they are."""
        options = (self._head_weight, self.causal, self.tells_heads)
        message = self.ternary.messages(old.labels.probabilities, places.inside, *options)
        told = old._replace(features=self._choices(old))
        message = scores + (2 * message if self.doubled else message)
        return told._replace(labels=self._labels(told, message, places))

    def _heads(self, old: Beliefs, pairs: Tensor, places: Places) -> Belief:
        labels = old.labels.probabilities
        parts = [pairs]
        if old.dependency_labels is not None:
            parts = [expected_scores(pairs, old.dependency_labels.probabilities)]
        if self.root is not None and old.root is not None:
            parts.append(self.root(labels, old.root.probabilities).unsqueeze(-1))
        if self.features is not None and self.among_heads:
            parts.append(self.features(labels))
        message = torch.cat(parts, -1) if len(parts) > 1 else parts[0]
        return self.updates.heads(old.heads, message, self._head_weight, places)

    def _choices(self, old: Beliefs) -> Belief | None:
        """The global features that words choose, apart from their heads."""
        features = self._split_features
        if features is None or old.features is None:
            return None
        # One choice for all channels has weight 1, as in a feed-forward layer.
        weight = 1.0 if self.shared_choice else self._head_weight
        message = features(old.labels.probabilities)
        return self.updates.heads(old.features, message, weight, None)

    def _dependency_labels(self, told: Beliefs, pairs: Tensor) -> Belief | None:
        """The labels of dependencies on words."""
        if told.dependency_labels is None:
            return None
        heads = told.heads.probabilities[..., : pairs.shape[-1]]
        message = label_scores(pairs, heads, self.dependency_labels)
        return self.updates.heads(told.dependency_labels, message, self._head_weight, None)

    def _dropped(self, told: Beliefs) -> Beliefs:
        """The beliefs with dropout of heads and other choices: of what is told, not of what is kept."""
        heads, features = (
            None if part is None else part._replace(probabilities=self.dropout(part.probabilities))
            for part in (told.heads, told.features)
        )
        assert heads is not None
        return told._replace(heads=heads, features=features)

    def _labels(self, old: Beliefs, message: Tensor, places: Places) -> Belief:
        """The labels of words after the message of other words, and of whatever else may be their head."""
        heads = old.heads.probabilities
        if self.root is not None and old.root is not None:
            message = message + self.root.to_labels(heads[..., message.shape[1]], old.root.probabilities)
        if self.features is not None:
            among = heads[..., -self.features.count :]
            chosen = among if old.features is None else old.features.probabilities
            message = message + self.features.to_labels(chosen)
        found = self.updates.labels(old.labels, message, self.dropout)
        return found._replace(probabilities=found.probabilities * places.inside.unsqueeze(-1))

    def _from_words(self, told: Beliefs, rows: Any) -> Tensor:
        """G, what words tell each other."""
        heads = told.heads.probabilities[..., : told.labels.probabilities.shape[1]]
        if told.dependency_labels is not None:
            heads = labelled_heads(heads, told.dependency_labels.probabilities)
        found = self.ternary.to_dependents(heads, rows)
        if self.doubled:
            return 2 * found
        return found + self.ternary.to_heads(heads, rows) if self.tells_heads else found

    def _root(self, old: Beliefs) -> Belief | None:
        if self.root is None or old.root is None:
            return None
        labels, heads = old.labels.probabilities, old.heads.probabilities
        message = self.root.to_root(heads[..., labels.shape[1]], labels)
        return self.updates.labels(old.root, message, self.dropout)

    def _encoding(self, beliefs: Beliefs, inside: Tensor) -> Encoding:
        n = inside.shape[1]
        heads = beliefs.heads.probabilities * inside[:, None, :, None]
        features = self._inside(beliefs.features, inside)
        if features is None and self.features is not None:
            features = heads[..., -self.features.count :]
        return Encoding(
            _label_scores(beliefs, inside),
            beliefs.labels.probabilities,
            heads[..., :n],
            None if self.root is None else heads[..., n],
            features,
            None if beliefs.root is None else beliefs.root.probabilities,
            None if beliefs.root is None else beliefs.root.message,
            self._inside(beliefs.dependency_labels, inside),
        )

    @staticmethod
    def _inside(belief: Belief | None, inside: Tensor) -> Tensor | None:
        """The distributions of variables that words have in channels, ``(batch, h, n, m)``; 0 in the padding."""
        return None if belief is None else belief.probabilities * inside[:, None, :, None]


def _label_scores(beliefs: Beliefs, inside: Tensor) -> Tensor:
    return beliefs.labels.message.masked_fill(~inside.unsqueeze(-1), 0.0)


_FACTORED: dict[str, type[UV | UVW | WeightedUV | BiasedUV]] = {
    "uv": UV,
    "uvw": UVW,
    "weighted": WeightedUV,
    "biased": BiasedUV,
}


def _ternary(
    decomposition: str, labels: int, channels: int, buckets: Buckets, rank: int, symmetric: bool
) -> Ternary:
    if decomposition == "full":
        return FullTernary(labels, channels, buckets, symmetric)
    return _FACTORED[decomposition](labels, channels, buckets, rank, symmetric)
