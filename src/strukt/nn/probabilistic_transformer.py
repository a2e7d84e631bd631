"""The Probabilistic Transformer: an encoder that unrolls mean field in a model of labels and heads."""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor

from strukt.checks import arguments
from strukt.checks.lengths import Lengths
from strukt.inference.settings import require_one_of
from strukt.kernels.buckets import Buckets
from strukt.nn.beliefs import Belief, Beliefs, PossibleHeads, Updates
from strukt.nn.biased_ternary import BiasedUV
from strukt.nn.encoders import mask_of
from strukt.nn.head_values import GlobalFeatures, Root
from strukt.nn.inputs import precise, require_sizes
from strukt.nn.mean_field_iteration import MeanFieldIteration
from strukt.nn.ternary import UV, UVW, FullTernary, Ternary, WeightedUV


class Encoding(NamedTuple):
    """The distributions of mean field for a batch of sentences.

    There are n words, h channels, d labels, d_root labels of the root, m global features and l dependency labels.

    Attributes:
        scores: ``(batch, n, d)``, the unnormalised scores of labels, S + G of the last iteration; 0 in padding.
        labels: ``(batch, n, d)``, Q(Z), the probabilities of labels; 0 in the padding.
        heads: ``(batch, h, n, n)``, ``[c, i, j]`` is the probability that word j is the head of word i in channel
            c; 0 in the padding, and for a word without a possible head.
        root_heads: ``(batch, h, n)``, the probability that the root is the head; 0 in the padding. None without a
            root.
        features: The probabilities that each of m global features is the head: ``(batch, h, n, m)``, or
            ``(batch, 1, n, m)`` if all channels share one choice; 0 in the padding. None without global features.
        root: ``(batch, d_root)``, the distribution of the label of the root, which represents the sentence; None
            without a root.
        root_scores: ``(batch, d_root)``, the unnormalised scores of the label of the root; None without a root.
        dependency_labels: ``(batch, h, n, l)``, the distribution of the label of the dependency of each word in
            each channel; 0 in the padding. None without dependency labels.
    """

    scores: Tensor
    labels: Tensor
    heads: Tensor
    root_heads: Tensor | None
    features: Tensor | None
    root: Tensor | None
    root_scores: Tensor | None = None
    dependency_labels: Tensor | None = None


class ProbabilisticTransformer(MeanFieldIteration):
    """The Probabilistic Transformer: mean field over a label for each word and, in each channel, its head.

    Each word i has one of d labels, Z_i, and, in each of h channels, a head among the other words. The score of a
    sentence is sum_i S[i, Z_i] + sum_ic T^(c)[Z_i, Z_j], where j is the head of i in channel c. Mean field
    approximates the distribution by independent ones, Qz ``(n, d)`` of labels and Qh_c ``(n, n)`` of heads. An
    iteration is

        F_c = Qz T^(c) Qz',   Qh_c = softmax(F_c / lambda_H),
        G = sum_c (Qh_c Qz T^(c)' + Qh_c' Qz T^(c)),   Qz = softmax((S + G) / lambda_Z),

    where T^(c) depends on the distance of the two words; lambda_H and lambda_Z are weights of `Updates`. All
    variants of the source are options.

    Args:
        labels: Number of labels, d.
        channels: Number of channels, h.
        iterations: Number of updates of all distributions.
        rank: Rank r of the decomposition; not used by ``full``.
        distance: g; each distance up to g has separate scores. None for scores that do not depend on distance.
        shared: Whether scores shared by all distances are added to those of each distance: 2g + 3 tables instead
            of 2g + 2 (equations 9 and 10). The source has no shared scores. Not for ``weighted`` and ``biased``.
        decomposition: ``full`` tables; ``uv``; ``uvw``, in which channels share factors; ``weighted``, in which
            distances share factors, so that two projections replace two for each distance; or ``biased``, in which
            distances share factors and add a separate score for heads only (`strukt.nn.ternary`).
        symmetric: Whether T is symmetric.
        symmetric_messages: The messages to labels in a symmetric model, unused in others: ``doubled``, G = 2 sum_c
            Qh_c Qz T^(c)', which is attention with tied projections (equation 20); or ``both``, the messages of
            heads and of dependents (equation 16). The models differ, because Qh_c is not symmetric.
        causal: Whether heads are to the left of their dependents and receive no messages from them, so that
            nothing depends on words to the right.
        tells_heads: Whether dependents send messages to their heads, the second term of G. They never do in a
            causal model, or with ``doubled`` messages.
        dependency_labels: l, number of labels of a dependency: a variable for each head, on which the scores T^(c)
            depend (scores of a root and of global features do not), as the source proposes for further work; 0 for
            none.
        root_labels: Number of labels of a root, which may be the head of every word; 0 for no root. A causal model
            has no root, because it would pass messages from words to words on their left.
        features: m, number of global features that words may choose; 0 for none.
        feature_choice: ``all-dep``, features compete with words as heads; ``dep-split``, a separate choice in each
            channel; ``single-split``, a single choice, the counterpart of a feed-forward layer.
        updates: The settings of mean-field updates; `Updates()` if None.
        dropout: Dropout of the probabilities of heads and of global features, and of the scores of labels
            including the root, after each update.

    Raises:
        ValueError: If a size is out of range, the name of an option is unknown, `dropout` is not a probability, or
            a causal model has a root.

    For n words, an iteration takes O(n^2 h r + g n d h r) time, and for the gradient keeps O(n^2 h + g n h r)
    numbers, or O(g n h r) if only labels of words depend on heads (`label_scores`). In graphs of ``torch.compile``
    and ``torch.export`` and under ``torch.func`` it takes O(g n^2 h) numbers.

    Source: Wu and Tu (2023), "Probabilistic Transformer: a probabilistic dependency model for contextual word
    representation".

    Examples:
        >>> model = ProbabilisticTransformer(labels=16, channels=4, iterations=2, rank=8, root_labels=8)
        >>> result = model(torch.randn(2, 5, 16), torch.tensor([5, 3]))
        >>> result.labels.shape, result.heads.shape, result.root.shape
        (torch.Size([2, 5, 16]), torch.Size([2, 4, 5, 5]), torch.Size([2, 8]))
        >>> (result.heads.sum(-1) + result.root_heads)[1, 0].detach().round()
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
        require_sizes(labels=labels, channels=channels, iterations=iterations, rank=rank)
        require_one_of("decomposition", decomposition, ("full", *_FACTORED))
        require_one_of("symmetric_messages", symmetric_messages, ("doubled", "both"))
        require_one_of("feature_choice", feature_choice, ("all-dep", "dep-split", "single-split"))
        if distance is not None and (not arguments.is_integer(distance) or distance < 0):
            raise ValueError(f"distance is {distance}; expected at least 0, or None")
        sizes = {"root_labels": root_labels, "features": features, "dependency_labels": dependency_labels}
        for name, size in sizes.items():
            if not arguments.is_integer(size) or size < 0:
                raise ValueError(f"{name} is {size}; expected at least 0, a whole number")
        if causal and root_labels:
            raise ValueError(
                f"root_labels is {root_labels} in a causal model; expected 0, as a root would pass on information "
                "from words to the right"
            )
        doubled = symmetric and symmetric_messages == "doubled"
        tables = channels * max(dependency_labels, 1)
        ternary = _ternary(decomposition, labels, tables, Buckets(distance, shared), rank, symmetric)
        root = Root(labels, channels, root_labels) if root_labels else None
        choices = 1 if feature_choice == "single-split" else channels
        super().__init__(
            ternary,
            channels,
            root,
            GlobalFeatures(labels, choices, features) if features else None,
            feature_choice,
            updates or Updates(),
            dropout,
            doubled=doubled,
            causal=causal,
            tells_heads=tells_heads and not causal and not doubled,
            dependency_labels=dependency_labels,
        )
        self.iterations = iterations

    def forward(self, scores: Tensor, lengths: Lengths | None = None) -> Encoding:
        """Run mean field and return all distributions.

        Args:
            scores: S, ``(batch, n, d)``, the scores of the labels of each word, of which at least one is above
                -inf; padding is ignored. For scores in half precision, and under autocast, computation and results
                are in float32.
            lengths: ``(batch,)``; all n if None.

        Raises:
            ValueError: If a shape is wrong, or a length is not between 0 and n.
        """
        beliefs, inside = self._beliefs(scores, lengths, with_heads=True)
        return self._encoding(beliefs, inside)

    def label_scores(self, scores: Tensor, lengths: Lengths | None = None) -> Tensor:
        """Return only `Encoding.scores`, ``(batch, n, d)``; ``scores`` and ``lengths`` are those of `forward`.

        Forward and backward pass keep no n x n tensors if updates are asynchronous and those of heads are
        softmaxes with a step of 1, without damping or dropout. A root, dependency labels, features as heads
        (``all-dep``) and scores shared by all distances do need all pairs.

        Raises:
            ValueError: If a shape is wrong, or a length is not between 0 and n.
        """
        beliefs, inside = self._beliefs(scores, lengths, with_heads=False)
        return _label_scores(beliefs, inside)

    def _beliefs(self, scores: Tensor, lengths: Lengths | None, with_heads: bool) -> tuple[Beliefs, Tensor]:
        """Return the distributions after all iterations, with heads if `with_heads`, and the mask of words."""
        if scores.dim() != 3 or scores.shape[-1] != self.labels:
            raise ValueError(
                f"scores has shape {tuple(scores.shape)}; expected (batch, n, {self.labels}), a score per label"
            )
        batch, n, _ = scores.shape
        inside = mask_of(arguments.lengths(lengths, torch.Size([batch]), n, scores.device), n)
        scores = precise(scores).masked_fill(~inside.unsqueeze(-1), 0.0)
        places = PossibleHeads(inside, self.causal)
        # Messages to heads are multiplied by d, and so is the rounding error of half precision.
        with torch.autocast(scores.device.type, enabled=False):
            beliefs = self._independent(scores, places)
            for left in reversed(range(self.iterations)):
                needs_heads = with_heads and not left
                updated = self._updated if needs_heads or not self._heads_unseen else self._updated_labels
                beliefs = updated(beliefs, scores, places)
        return beliefs, inside

    def penalty(self) -> Tensor:
        """Return the sum of the squares of all scores T, a scalar, for an L2 penalty."""
        return self.ternary.penalty()

    def norm(self) -> Tensor:
        """Return the Euclidean norm of all scores T, a scalar: the regulariser of the source."""
        return self.ternary.norm()

    def tied_attention(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return the equivalent attention of a symmetric model: projections of queries and of keys, and the scale.

        With the projections U and V, ``(h, d, r)`` each, it is (equation 28)

            G = 2 sum_c softmax(scale (Qz U_c) (Qz V_c)') (Qz V_c) U_c',

        where values have the projection of keys. This holds for the normaliser softmax and heads among words only.

        Raises:
            ValueError: If the model is not symmetric with doubled messages, depends on distance, or has dependency
                labels.
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
            None if self.root is None else heads.select(-1, n),
            features,
            None if beliefs.root is None else beliefs.root.probabilities,
            None if beliefs.root is None else beliefs.root.message,
            self._inside(beliefs.dependency_labels, inside),
        )

    @staticmethod
    def _inside(belief: Belief | None, inside: Tensor) -> Tensor | None:
        """Return the distributions ``(batch, h, n, m)`` of variables of words in channels; 0 in the padding."""
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
