"""The constituency parser, which predicts labelled spans and a tag for each word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from strukt.data import brackets, conllu
from strukt.data.brackets import TOPS
from strukt.data.constituents import Constituent, Tree
from strukt.data.constituents.binarisation import EMPTY, binarise, restore
from strukt.data.sentence import Sentence
from strukt.data.vocabulary import Vocabulary
from strukt.errors import DataError
from strukt.metrics.parseval import Parseval
from strukt.tasks.common.batch import Batch
from strukt.tasks.common.encoder.base import Encoder
from strukt.tasks.common.spans.layer import GoldSpans
from strukt.tasks.common.spans.model import SpanModel
from strukt.tasks.common.spans.prediction import PredictedSpan, bracket
from strukt.tasks.common.symbols import CHAIN, COLUMN, Forms
from strukt.tasks.constituency.config import Config
from strukt.tasks.constituency.prediction import TreePrediction


class ConstituencyParser(SpanModel):
    """A constituency parser: predicts a tree without traces and function tags, and the tags of the words.

    If all trees of the training corpus have the same outermost label, such as ROOT, it is added, not predicted.
    """

    task: ClassVar[str] = "constituency"
    outputs: ClassVar[Forms] = {"labels": CHAIN, "tags": COLUMN}
    networks: tuple[str, ...] = (*SpanModel.networks, "tag_scores")
    config: Config

    def __init__(self, config: Config, vocabularies: dict[str, Vocabulary], encoder: Encoder) -> None:
        if not {EMPTY, *TOPS}.issuperset(vocabularies["top"].symbols):
            raise ValueError(f"the vocabulary top has labels other than {', '.join(TOPS)}")
        super().__init__(config, vocabularies, encoder)
        self.tag_score = nn.Linear(self.encoder.size, len(vocabularies["tags"]))

    @classmethod
    def trainable(cls, config: Config, sentences: Sequence[Sentence]) -> Sequence[Sentence]:  # noqa: ARG003
        """Return all sentences, after checking that each has a tree."""
        for sentence in sentences:
            _tree(sentence)
        return sentences

    @classmethod
    def labels_of(cls, config: Config, sentences: Sequence[Sentence]) -> dict[str, Vocabulary]:  # noqa: ARG003
        """Return the labels of spans, the tags of words, and the outermost label if all trees have the same.

        Labels of spans are sorted by frequency, so that frequent labels get code words that are far apart.
        """
        trees = [_tree(sentence) for sentence in sentences]
        labels = Counter([EMPTY, *(label for tree in trees for _, _, label in _spans(tree))])
        firsts = {tree.nodes[0].label for tree in trees}
        shared = len(firsts) == 1 and firsts <= {EMPTY, *TOPS}
        return {
            "labels": Vocabulary(label for label, _ in labels.most_common()),
            "tags": Vocabulary.labels(tag for tree in trees for tag in tree.tags),
            "top": Vocabulary(firsts if shared else []),
        }

    def known_spans(self, sentence: Sentence) -> Iterable[tuple[int, int, str]]:
        return _spans(_tree(sentence))

    def targets(self, sentence: Sentence) -> dict[str, Tensor]:
        """Return the spans of the binary tree, and the tags of the words, `tags` `(n,)`."""
        tags = self.vocabularies["tags"].indices(_tree(sentence).tags)
        return super().targets(sentence) | {"tags": torch.tensor(tags, dtype=torch.long)}

    def loss(self, batch: Batch) -> Tensor:
        """Return the loss of the tree plus the weighted loss of tags, which may not train the encoder."""
        views, gold = self.views(batch), GoldSpans.of(batch.targets)
        words = views[0].detach() if self.layer.trains_alone else views[0]
        tags = functional.cross_entropy(
            self.tag_scores(words).flatten(0, 1), batch.targets["tags"].flatten(), ignore_index=-1
        )
        return self.layer.loss(views, gold, batch.lengths) + self.config.tag_weight * tags

    def predict_batch(self, batch: Batch, probabilities: bool = False) -> list[TreePrediction]:
        """Return the best tree of each sentence, with the best tag of each word."""
        words = self.words(batch.inputs, batch.lengths)
        tags = self.tag_scores(words).argmax(-1).tolist()
        spans_of_sentences = self.layer.best_spans(words, batch.lengths, probabilities)
        return [
            self._prediction(sentence.forms, [self.vocabularies["tags"].symbols[tag] for tag in row], spans)
            for sentence, row, spans in zip(batch.sentences, tags, spans_of_sentences, strict=True)
        ]

    def tag_scores(self, words: Tensor) -> Tensor:
        """Return the scores of tags, `(batch, n, tags)`, from the vectors of words."""
        scores: Tensor = self.tag_score(words)
        return scores

    def metric(self) -> Parseval:
        """Return the metric: PARSEVAL scores of labelled brackets, by the rules of EVALB."""
        return Parseval()

    def observed(self, sentence: Sentence) -> Tree:
        """Return the tree of a sentence, without traces and function tags."""
        return _tree(sentence)

    def require_usable(self, sentence: Sentence) -> None:
        """Raise a DataError unless the format of the sentence is brackets or CoNLL-U, which can hold trees."""
        if not isinstance(sentence, (brackets.Sentence, conllu.Sentence)):
            raise DataError(
                "a constituency parser needs brackets, CoNLL-U or text", sentence.path, sentence.line
            )

    def require_place(self, sentence: Sentence) -> None:
        """Always raise a DataError: no format of trees has a place for probabilities."""
        raise DataError(
            "trees have no place for probabilities; leave them out, or draw them with strukt show",
            sentence.path,
            sentence.line,
        )

    def _prediction(
        self, forms: Sequence[str], tags: Sequence[str], spans: Sequence[PredictedSpan]
    ) -> TreePrediction:
        triples = [(span.start, span.end, span.label) for span in spans]
        tree = restore(forms, tags[: len(forms)], triples)
        for top in self.vocabularies["top"].symbols:
            tree = Tree.build(forms, tree.tags, [Constituent(0, len(forms), top), *_without_top(tree)])
        shown = [bracket(span, label) for span in spans for label in span.label.split(" ") if label != EMPTY]
        return TreePrediction(shown, self.layer.bits, self.layer.codes, self.layer.shares(spans), tree)


def _tree(sentence: Sentence) -> Tree:
    if not isinstance(sentence, (brackets.Sentence, conllu.Sentence)):
        raise DataError("constituency parsing needs a file of trees", sentence.path, sentence.line)
    return sentence.tree.without_traces().without_functions()


def _spans(tree: Tree) -> list[Constituent]:
    """Return the labelled spans of the binarised tree, without a shared outermost label such as ROOT."""
    return binarise(Tree.build(tree.words, tree.tags, _without_top(tree)))


def _without_top(tree: Tree) -> list[Constituent]:
    first, *rest = tree.constituents
    return rest if first.label in (EMPTY, *TOPS) else [first, *rest]
