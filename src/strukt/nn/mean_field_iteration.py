"""An iteration of mean field over a label and heads for each word: the messages of variables, and all updates."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

from strukt.nn.beliefs import Belief, Beliefs, PossibleHeads, Updates, uniform
from strukt.nn.dependency_labels import expected_scores, label_scores, labelled_heads
from strukt.nn.head_values import GlobalFeatures, Root
from strukt.nn.ternary.base import Ternary


class MeanFieldIteration(nn.Module):
    """An iteration of mean field in the model of labels and heads of `strukt.nn.ProbabilisticTransformer`.

    Args:
        ternary: The scores of triples: the label of a word, its head, and the label of the head; with l dependency
            labels, l times as many tables as channels.
        channels: Number of channels, h.
        root: The root, or None.
        features: The global features, or None.
        feature_choice: ``all-dep``, features compete with words as heads; ``dep-split``, a separate choice in each
            channel; ``single-split``, a single choice.
        updates: The settings of mean-field updates.
        dropout: Dropout of the probabilities of heads and of global features, and of the scores of labels.
        doubled: Whether messages between words are 2 sum_c Qh_c Qz T^(c)', those of a symmetric model.
        causal: Whether heads are to the left of their dependents.
        tells_heads: Whether dependents send messages to their heads.
        dependency_labels: Number of labels of a dependency; 0 for none.
    """

    def __init__(
        self,
        ternary: Ternary,
        channels: int,
        root: Root | None,
        features: GlobalFeatures | None,
        feature_choice: Literal["all-dep", "dep-split", "single-split"],
        updates: Updates,
        dropout: float,
        *,
        doubled: bool,
        causal: bool,
        tells_heads: bool,
        dependency_labels: int,
    ) -> None:
        super().__init__()
        self.labels, self.channels, self.updates = ternary.labels, channels, updates
        self.among_heads, self.shared_choice = feature_choice == "all-dep", feature_choice == "single-split"
        self.doubled, self.causal, self.tells_heads = doubled, causal, tells_heads
        self.dependency_labels = dependency_labels
        self.dropout = nn.Dropout(dropout)
        self.ternary, self.root, self.features = ternary, root, features

    def _independent(self, scores: Tensor, places: PossibleHeads) -> Beliefs:
        """Return the initial distributions: labels from their own scores, all others uniform.

        Heads are zeros if the first update replaces them before anything reads them.
        """
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

    def _updated(self, old: Beliefs, scores: Tensor, places: PossibleHeads) -> Beliefs:
        """Return the distributions after an update of heads, other choices and labels."""
        rows = self.ternary.rows(old.labels.probabilities)
        pairs = self.ternary(rows)
        new = old._replace(heads=self._heads(old, pairs, places), features=self._choices(old))
        beliefs = new if self.updates.order == "asynchronous" else old
        new = new._replace(dependency_labels=self._dependency_labels(beliefs, pairs))
        del pairs  # as large as n x n
        beliefs = self._dropped(new if self.updates.order == "asynchronous" else old)
        message = scores + self._from_words(beliefs, rows)
        return new._replace(labels=self._labels(beliefs, message, places), root=self._root(beliefs))

    def _updated_labels(self, old: Beliefs, scores: Tensor, places: PossibleHeads) -> Beliefs:
        """Return the updated distributions like `_updated`, but without updating heads."""
        options = (self._head_weight, self.causal, self.tells_heads)
        message = self.ternary.messages(old.labels.probabilities, places.inside, *options)
        beliefs = old._replace(features=self._choices(old))
        message = scores + (2 * message if self.doubled else message)
        return beliefs._replace(labels=self._labels(beliefs, message, places))

    @property
    def _heads_unseen(self) -> bool:
        """True if only labels of words depend on heads, which are then never stored for all pairs."""
        updates = self.updates
        return (
            self.ternary.in_blocks
            and (updates.order, updates.normaliser) == ("asynchronous", "softmax")
            and updates.head_step == 1
            and not (updates.head_damping or self.dependency_labels or self._beside)
            and not (self.training and self.dropout.p)
        )

    def _heads(self, old: Beliefs, pairs: Tensor, places: PossibleHeads) -> Belief:
        """Return the updated heads, from the expected scores of pairs of words, `(batch, h or h l, n, n)`."""
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
        """Return the choices of global features, if they are separate from heads."""
        features = self._split_features
        if features is None or old.features is None:
            return None
        # One choice for all channels has weight 1, as in a feed-forward layer.
        weight = 1.0 if self.shared_choice else self._head_weight
        message = features(old.labels.probabilities)
        return self.updates.heads(old.features, message, weight, None)

    def _dependency_labels(self, beliefs: Beliefs, pairs: Tensor) -> Belief | None:
        """Return the updated distributions of the labels of dependencies between words; None without labels."""
        if beliefs.dependency_labels is None:
            return None
        heads = beliefs.heads.probabilities[..., : pairs.shape[-1]]
        message = label_scores(pairs, heads, self.dependency_labels)
        return self.updates.heads(beliefs.dependency_labels, message, self._head_weight, None)

    def _dropped(self, beliefs: Beliefs) -> Beliefs:
        """Apply dropout to heads and other choices, for messages only."""
        heads, features = (
            None if part is None else part._replace(probabilities=self.dropout(part.probabilities))
            for part in (beliefs.heads, beliefs.features)
        )
        assert heads is not None
        return beliefs._replace(heads=heads, features=features)

    def _labels(self, old: Beliefs, message: Tensor, places: PossibleHeads) -> Belief:
        """Return the labels of words after the messages of other words, the root and global features."""
        heads = old.heads.probabilities
        if self.root is not None and old.root is not None:
            message = message + self.root.to_labels(heads.select(-1, message.shape[1]), old.root.probabilities)
        if self.features is not None:
            among = heads[..., -self.features.count :]
            chosen = among if old.features is None else old.features.probabilities
            message = message + self.features.to_labels(chosen)
        labels = self.updates.labels(old.labels, message, self.dropout)
        return labels._replace(probabilities=labels.probabilities * places.inside.unsqueeze(-1))

    def _from_words(self, beliefs: Beliefs, rows: Any) -> Tensor:
        """Return G, the messages between words."""
        heads = beliefs.heads.probabilities[..., : beliefs.labels.probabilities.shape[1]]
        if beliefs.dependency_labels is not None:
            heads = labelled_heads(heads, beliefs.dependency_labels.probabilities)
        messages = self.ternary.to_dependents(heads, rows)
        if self.doubled:
            return 2 * messages
        return messages + self.ternary.to_heads(heads, rows) if self.tells_heads else messages

    def _root(self, old: Beliefs) -> Belief | None:
        """Return the updated label of the root; None without a root."""
        if self.root is None or old.root is None:
            return None
        labels, heads = old.labels.probabilities, old.heads.probabilities
        message = self.root.to_root(heads.select(-1, labels.shape[1]), labels)
        return self.updates.labels(old.root, message, self.dropout)

    @property
    def _head_weight(self) -> float:
        weight = self.updates.head_weight
        return 1 / self.labels if weight is None else weight

    @property
    def _split_features(self) -> GlobalFeatures | None:
        """The global features with a choice separate from heads; None if there are none."""
        return None if self.among_heads else self.features

    @property
    def _beside(self) -> int:
        """The number of values of a head other than the words."""
        features = self.features.count if self.features is not None and self.among_heads else 0
        return features + (self.root is not None)
