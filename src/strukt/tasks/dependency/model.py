"""The dependency parser: biaffine scores of arcs and labels, and a distribution over trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor
from typing_extensions import override

from strukt.data import conllu
from strukt.data.sentence import UNANNOTATED, Sentence
from strukt.data.vocabulary import Vocabulary
from strukt.distributions import NonProjectiveTree, ProjectiveTree
from strukt.errors import DataError
from strukt.inference.sparsemap import TOL
from strukt.losses import fenchel_young_loss
from strukt.metrics.attachment_scores import AttachmentScore
from strukt.nn import CRFAutoencoder, SharedDropout
from strukt.nn.dependency_scorer import DependencyScores, reserve_root
from strukt.nn.encoders import mask_of
from strukt.nn.estimators import SparseMAP
from strukt.tasks.common.batch import Batch
from strukt.tasks.common.encoder.base import Encoder
from strukt.tasks.common.mean_loss import cross_entropies, mean_loss
from strukt.tasks.common.partial_annotation import cross_entropies_of_sets, losses_of_sets
from strukt.tasks.common.prediction import WordPrediction, probability_notes
from strukt.tasks.common.structure_predictor import StructurePredictor
from strukt.tasks.common.symbols import COLUMN, Forms
from strukt.tasks.dependency.config import Config
from strukt.tasks.dependency.criteria import LOSSES, SEARCHES, SEARCHES_IN_PREDICTION, sparsity
from strukt.tasks.dependency.partial_trees import agreeing_arcs, at_heads, forbidden_arcs
from strukt.tasks.dependency.training_trees import (
    conllu_of,
    has_annotation,
    heads_of,
    training_trees,
    unlabelled,
)
from strukt.viz import Diagram

TREES: dict[str, type[NonProjectiveTree] | type[ProjectiveTree]] = {
    "nonprojective": NonProjectiveTree,
    "projective": ProjectiveTree,
}


class Parser(DependencyScores, StructurePredictor):
    """A dependency parser: predicts the head of each word and the label of the arc to it.

    Source: Dozat and Manning (2017), "Deep biaffine attention for neural dependency parsing".

    Args:
        config: The configuration of the task.
        vocabularies: The vocabularies of the encoder, and the relations as `labels`.
        encoder: The encoder of the words.

    Examples:
        >>> from strukt.data import conllu
        >>> from strukt.tasks.dependency import Config
        >>> sentence = conllu.from_forms(["Dogs", "bark"]).annotated(head=[2, 0], deprel=["nsubj", "root"])
        >>> parser = Parser.from_corpus(Config(), [sentence])
        >>> parser.distribution([sentence]).marginals.sum(-1).round(decimals=3)  # each word has one head
        tensor([[1., 1.]])
        >>> next(parser.predict("Dogs bark")).heads.count(0)  # one root
        1
    """

    task: ClassVar[str] = "dependency"
    outputs: ClassVar[Forms] = {"labels": COLUMN}
    networks: tuple[str, ...] = ("scores", "label_scores")
    config: Config
    few_hint: ClassVar[str] = "models trained with --criterion sparsemap have one"

    def __init__(self, config: Config, vocabularies: dict[str, Vocabulary], encoder: Encoder) -> None:
        super().__init__(config, vocabularies, encoder)
        size, dropout = self.encoder.size, config.encoder.outer_dropout
        self.dropout = SharedDropout(dropout)
        self.build_scores(size, len(vocabularies["labels"]), config.arc_size, config.label_size, dropout)
        self.autoencoder = None
        if config.unlabelled:
            self.autoencoder = CRFAutoencoder(len(vocabularies["words"]), config.encoder.words)

    @classmethod
    def trainable(cls, config: Config, sentences: Sequence[Sentence]) -> Sequence[Sentence]:
        """Return the sentences that the criterion can learn from, after checking their trees.

        The sentences of the unlabelled corpus follow, without trees.

        Raises:
            DataError: If a sentence is not of a CoNLL-U file, or its heads are incompatible with a tree.
        """
        return [*training_trees(config, sentences), *unlabelled(config)]

    @staticmethod
    @override
    def has_annotation(config: Config, sentence: Sentence) -> bool:
        return has_annotation(sentence)

    @classmethod
    @override
    def labels_of(cls, config: Config, sentences: Sequence[Sentence]) -> dict[str, Vocabulary]:
        """Return the relations of the training corpus, as the vocabulary `labels`; raise a DataError if none."""
        relations = {label for sentence in sentences for label in conllu_of(sentence).deprels}
        labels = Vocabulary.labels(relations - {UNANNOTATED})
        if not labels.symbols:
            raise DataError("no word has a relation; fill in the column DEPREL of some", config.train or None)
        return {"labels": labels}

    @property
    def selection(self) -> str:
        """The score that selects the best epoch: the labelled attachment score (LAS)."""
        return "LAS"

    def targets(self, sentence: Sentence) -> dict[str, Tensor]:
        """Return `heads` and the label indices of arcs, `labels`, ``(n,)`` each; -1 for words without annotation.

        With the option `partial`, also return the forbidden arcs, and as `denied` the forbidden labels of arcs.
        """
        known = self.vocabularies["labels"]
        may_lack = self.config.partial or self.autoencoder is not None
        annotated = heads_of(sentence) if may_lack else conllu_of(sentence).heads
        heads = [-1 if head is None else head for head in annotated]
        labels = [-1 if label == UNANNOTATED else known.index(label) for label in conllu_of(sentence).deprels]
        targets = {
            "heads": torch.tensor(heads, dtype=torch.long),
            "labels": torch.tensor(labels, dtype=torch.long),
        }
        return targets | forbidden_arcs(sentence, known, labels) if self.config.partial else targets

    def loss(self, batch: Batch) -> Tensor:
        """Return the loss of the heads plus the cross-entropy of the labels, as a mean over all words.

        The number of words includes those without annotation.
        """
        vectors = self._encoded(batch.inputs, batch.lengths)
        heads, labels = batch.targets["heads"], batch.targets["labels"]
        of_labels = cross_entropies(self.label_scores(vectors, heads), labels)
        if self.autoencoder is not None:
            of_arcs = -self._log_likelihood(self.arc_scores(vectors), heads, self.autoencoder, batch)
        elif self.config.partial:
            of_arcs = self._losses_of_sets(vectors, batch)
        else:
            of_arcs = self._arc_losses(self.arc_scores(vectors), heads, batch.lengths)
        return mean_loss(of_labels + of_arcs, batch.lengths, "words")

    def distribution_of(self, batch: Batch) -> NonProjectiveTree | ProjectiveTree:
        """Return the distribution over trees with one root."""
        return self.trees(self.scores(batch.inputs, batch.lengths)[0], batch.lengths)

    def scores(self, inputs: dict[str, Tensor], lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Return scores of arcs, ``(batch, n, n + 1)``, and vectors for `label_scores`, ``(batch, n + 1, size)``.

        Entry 0 of each axis of size n + 1 is the root; `size` is that of the vectors of the encoder.

        Args:
            inputs: The inputs of the encoder, as in `Batch.inputs`.
            lengths: ``(batch,)``, the numbers of words.
        """
        vectors = self._encoded(inputs, lengths)
        return self.arc_scores(vectors), vectors

    @property
    @override
    def few(self) -> SparseMAP | None:
        """SparseMAP, for models trained with it; None for other models."""
        is_sparse = self.config.criterion in ("sparsemap", "sparsemap-margin")
        return SparseMAP(SEARCHES_IN_PREDICTION, TOL) if is_sparse else None

    def predict_batch(self, batch: Batch, probabilities: bool = False) -> list[WordPrediction]:
        """Return the best trees, with the best label of each arc.

        With `probabilities`, words get the notes `p`, the marginal probability of the arc (under SparseMAP for
        models trained with it), and `p_label`, the probability of the label given the arc. Models trained with
        SparseMAP have two more scores: `trees`, the mean number of trees in its solution, and `one tree`, the
        percentage of sentences with a single tree.
        """
        arcs, vectors = self.scores(batch.inputs, batch.lengths)
        trees = self.trees(arcs, batch.lengths)
        few = trees.sparsemap(SEARCHES_IN_PREDICTION) if self.few else None
        marginals = (few or trees).marginals if probabilities else None
        predictions = self._predictions_of(vectors, trees.mode, batch.lengths, marginals)
        if few is None:
            return predictions
        counts = (few.weights > 0).sum(-1).tolist()
        return [
            replace(each, shares=sparsity(count)) for each, count in zip(predictions, counts, strict=True)
        ]

    @override
    def given(self, sentence: Sentence) -> list[Tensor]:
        """Return the heads in the column HEAD, ``(n,)``, as the only structure."""
        return [torch.tensor(conllu.require_tree(conllu_of(sentence)).heads)]

    @override
    def drawn(self, batch: Batch, events: Tensor) -> list[Diagram]:
        return [
            prediction.diagram(sentence)
            for prediction, sentence in zip(self.labelled(batch, events), batch.sentences, strict=True)
        ]

    def labelled(self, batch: Batch, events: Tensor, denied: Tensor | None = None) -> list[WordPrediction]:
        """Return trees with the best label of each arc.

        Args:
            batch: The sentences.
            events: ``(batch, n)``, the heads of each sentence; -1 in the padding.
            denied: ``(batch, n, n + 1, labels)``, a mask of the labels that an arc must not have; None for none.
        """
        _, vectors = self.scores(batch.inputs, batch.lengths)
        return self._predictions_of(vectors, events, batch.lengths, denied=denied)

    def metric(self) -> AttachmentScore:
        """Return the metric: the attachment scores UAS, LAS and CLAS."""
        return AttachmentScore()

    @override
    def require_annotated(self, sentence: Sentence) -> None:
        """Raise a DataError unless the heads are a tree with one root, as the CoNLL 2018 script does."""
        conllu.require_tree(conllu_of(sentence))

    def observed(self, sentence: Sentence) -> list[tuple[int, str]]:
        """Return the head and the relation of each word."""
        return conllu_of(sentence).arcs

    def _encoded(self, inputs: dict[str, Tensor], lengths: Tensor) -> Tensor:
        """Return the vectors of the root and the words, ``(batch, n + 1, size)``."""
        vectors: Tensor = self.dropout(self.with_root(self.encoder(inputs, lengths)))
        return vectors

    def _predictions_of(
        self,
        vectors: Tensor,
        heads: Tensor,
        lengths: Tensor,
        marginals: Tensor | None = None,
        denied: Tensor | None = None,
    ) -> list[WordPrediction]:
        """Return predictions with these heads and the best labels; with marginals, also with probabilities."""
        symbols = self.vocabularies["labels"].symbols
        label_scores = reserve_root(self.label_scores(vectors, heads), heads, symbols)
        if denied is not None:
            label_scores = label_scores.masked_fill(at_heads(heads, denied), -torch.inf)
        certainty, labels = label_scores.softmax(-1).amax(-1), label_scores.argmax(-1)
        of_arcs = None if marginals is None else at_heads(heads, marginals.unsqueeze(-1)).squeeze(-1).cpu()
        heads, labels, certainty = heads.cpu(), labels.cpu(), certainty.cpu()  # one copy per batch
        predictions = []
        for row, n in enumerate(lengths.tolist()):
            columns = {
                "head": heads[row, :n].tolist(),
                "deprel": [symbols[index] for index in labels[row, :n].tolist()],
            }
            notes = {}
            if of_arcs is not None:
                notes["p"] = probability_notes(of_arcs[row, :n])
                notes["p_label"] = probability_notes(certainty[row, :n])
            predictions.append(WordPrediction(columns, notes))
        return predictions

    def _arc_losses(self, arcs: Tensor, heads: Tensor, lengths: Tensor) -> Tensor:
        """Return the loss of the heads of each sentence, ``(batch,)``."""
        if self.config.criterion == "head":
            candidates = mask_of(lengths + 1, arcs.shape[-1]).unsqueeze(1)
            return cross_entropies(arcs.masked_fill(~candidates, -torch.inf), heads)
        trees = self.trees(arcs, lengths)
        return fenchel_young_loss(trees, heads, *LOSSES[self.config.criterion], max_iterations=SEARCHES)

    def _losses_of_sets(self, vectors: Tensor, batch: Batch) -> Tensor:
        """Return the negative log-probability of the trees that agree with partial annotation, ``(batch,)``."""
        arcs = self.arc_scores(vectors)
        agreeing = agreeing_arcs(self, arcs, vectors, batch.targets)
        if self.config.criterion == "head":
            outside = ~mask_of(batch.lengths + 1, arcs.shape[-1]).unsqueeze(1)
            return cross_entropies_of_sets(*(each.masked_fill(outside, -torch.inf) for each in (arcs, agreeing)))
        return losses_of_sets(self.trees(arcs, batch.lengths), self.trees(agreeing, batch.lengths))

    def _log_likelihood(
        self, arcs: Tensor, heads: Tensor, autoencoder: CRFAutoencoder, batch: Batch
    ) -> Tensor:
        """Return the log-likelihood of words and tree, ``(batch,)``; for a sentence without tree, of the words."""
        words = batch.inputs["words"][batch.inputs["form"]]
        both = arcs + autoencoder(words)
        of_tree = at_heads(heads, both.unsqueeze(-1)).squeeze(-1).masked_fill(heads < 0, 0).sum(-1)
        of_all = self.trees(both, batch.lengths).log_partition
        chosen = torch.where(heads[:, 0] >= 0, of_tree, of_all)
        return chosen - self.trees(arcs, batch.lengths).log_partition

    def require_usable(self, sentence: Sentence) -> None:
        conllu_of(sentence)

    def trees(self, arcs: Tensor, lengths: Tensor) -> NonProjectiveTree | ProjectiveTree:
        """Return the distribution over trees with one root.

        Args:
            arcs: ``(batch, n, n + 1)``, the scores of arcs.
            lengths: ``(batch,)``, the numbers of words.
        """
        return TREES[self.config.trees](arcs, lengths)
