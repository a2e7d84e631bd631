"""The constituency parser, which predicts labelled spans and a tag for each word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn
from typing_extensions import override

from strukt.data import brackets, conllu
from strukt.data.brackets import TOPS
from strukt.data.constituents import Constituent, Tree
from strukt.data.constituents.binarisation import EMPTY, binarise, restore
from strukt.data.sentence import UNANNOTATED, Sentence
from strukt.data.vocabulary import Vocabulary
from strukt.errors import DataError
from strukt.metrics.parseval import Parseval
from strukt.tasks.common.batch import Batch
from strukt.tasks.common.encoder.base import Encoder
from strukt.tasks.common.mean_loss import mean_cross_entropy
from strukt.tasks.common.partial_annotation import with_annotation
from strukt.tasks.common.spans.layer import GoldSpans
from strukt.tasks.common.spans.model import SpanModel
from strukt.tasks.common.spans.prediction import PredictedSpan, bracket
from strukt.tasks.common.symbols import CHAIN, COLUMN, Forms
from strukt.tasks.constituency.config import Config
from strukt.tasks.constituency.prediction import TreePrediction


class ConstituencyParser(SpanModel):
    """A constituency parser: predicts a tree without traces or function tags, and the tags of the words.

    If all trees of the training corpus have the same outermost label, and this label is ROOT, TOP, S1 or empty, it
    is added to each predicted tree, not predicted.

    Args:
        config: The configuration of the task.
        vocabularies: The vocabularies of the encoder, and `labels` of spans, `tags` of words, and `top`, the label
            that is added.
        encoder: The encoder of the words.

    Raises:
        ValueError: If the vocabulary `top` holds another label.

    Examples:
        >>> from strukt.tasks.constituency import Config
        >>> import io
        >>> from strukt.data import brackets
        >>> [sentence] = brackets.read(io.BytesIO(b"(ROOT (S (NP (NNS Dogs)) (VP (VBP bark))))"))
        >>> parser = ConstituencyParser.from_corpus(Config(), [sentence])
        >>> {name: parser.vocabularies[name].symbols for name in ("labels", "tags", "top")}
        {'labels': ('', 'S', 'NP', 'VP'), 'tags': ('NNS', 'VBP'), 'top': ('ROOT',)}
        >>> [parsed] = parser.predict("Dogs bark")
        >>> parsed.tree.words
        ['Dogs', 'bark']
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
    def trainable(cls, config: Config, sentences: Sequence[Sentence]) -> Sequence[Sentence]:
        """Return all sentences, after checking that each has a tree; with `partial`, those with annotation.

        Raises:
            DataError: If a sentence has no tree, or is partially annotated without `partial`; with `partial`, if a
                constituent is both annotated and forbidden.
        """
        if not config.partial:
            for sentence in sentences:
                require_complete(sentence)
            return sentences
        for sentence in sentences:
            _require_possible(sentence)
        return with_annotation(sentences, [cls.has_annotation(config, sentence) for sentence in sentences])

    @staticmethod
    @override
    def has_annotation(config: Config, sentence: Sentence) -> bool:
        tree = _tree(sentence)
        is_known = not is_partial(tree) or bool(_spans(tree))
        return is_known or any(part.kind == "span" for part in sentence.forbidden)

    @classmethod
    def labels_of(cls, config: Config, sentences: Sequence[Sentence]) -> dict[str, Vocabulary]:  # noqa: ARG003
        """Return the labels of spans, the tags of words, and the outermost label that is added to all trees.

        Labels of spans are sorted by frequency, so that frequent labels get binary codes that are far apart.

        Raises:
            DataError: If a sentence has no tree.
        """
        trees = [_tree(sentence) for sentence in sentences]
        labels = Counter([EMPTY, *(label for tree in trees for _, _, label in _spans(tree))])
        firsts = {tree.nodes[0].label for tree in trees} - {UNANNOTATED}
        shared = len(firsts) == 1 and firsts <= {EMPTY, *TOPS}
        tags = {tag for tree in trees for tag in tree.tags}
        if any(is_partial(tree) for tree in trees):
            tags.discard(UNANNOTATED)
        return {
            "labels": Vocabulary(label for label, _ in labels.most_common()),
            "tags": Vocabulary.labels(tags),
            "top": Vocabulary(firsts if shared else []),
        }

    def known_spans(self, sentence: Sentence) -> Iterable[tuple[int, int, str]]:
        return _spans(_tree(sentence))

    @staticmethod
    @override
    def is_partial(sentence: Sentence) -> bool:
        return is_partial(_tree(sentence))

    def targets(self, sentence: Sentence) -> dict[str, Tensor]:
        """Return the spans of the binary tree, and the tags of the words, `tags` ``(n,)``; -1 for unknown tags.

        Raises:
            DataError: If the sentence has no tree.
        """
        known, tree = self.vocabularies["tags"], _tree(sentence)
        unknown = UNANNOTATED if is_partial(tree) else None
        tags = [-1 if tag == unknown else known.index(tag) for tag in tree.tags]
        return super().targets(sentence) | {"tags": torch.tensor(tags, dtype=torch.long)}

    def loss(self, batch: Batch) -> Tensor:
        """Return the loss of the tree plus the weighted loss of tags.

        For criterion bits-published, the loss of tags does not train the encoder.
        """
        views, gold = self.views(batch), GoldSpans.of(batch.targets)
        words = views[0].detach() if self.layer.trains_alone else views[0]
        tags = mean_cross_entropy(self.tag_scores(words), batch.targets["tags"], "words")
        return self.layer.loss(views, gold, batch.lengths) + self.config.tag_weight * tags

    def predict_batch(self, batch: Batch, probabilities: bool = False) -> list[TreePrediction]:
        """Return the best tree of each sentence, with the best tag of each word."""
        words = self.words(batch.inputs, batch.lengths)
        spans = self.layer.best_spans(words, batch.lengths, probabilities)
        return self._trees_of(batch, words, spans)

    @override
    def predictions_of(
        self, batch: Batch, spans: Iterable[Sequence[PredictedSpan]]
    ) -> list[TreePrediction]:
        return self._trees_of(batch, self.words(batch.inputs, batch.lengths), spans)

    def _trees_of(
        self, batch: Batch, words: Tensor, spans: Iterable[Sequence[PredictedSpan]]
    ) -> list[TreePrediction]:
        tags, symbols = self.tag_scores(words).argmax(-1).tolist(), self.vocabularies["tags"].symbols
        return [
            self._prediction(sentence.forms, [symbols[tag] for tag in row], of_sentence)
            for sentence, row, of_sentence in zip(batch.sentences, tags, spans, strict=True)
        ]

    @override
    def savable(self, sentence: Sentence) -> conllu.Sentence:
        return conllu.from_forms(sentence.forms, [f"# text = {' '.join(sentence.forms)}"])

    @override
    def partly_annotated(self, sentence: Sentence, spans: Sequence[tuple[int, int, str]]) -> Sentence:
        forms = sentence.forms
        known = [
            Constituent(start, end, label)
            for start, end, chain in sorted(spans, key=lambda span: (span[0], -span[1]))
            for label in chain.split(" ")
        ]
        tags = [UNANNOTATED] * len(forms)
        tree = Tree.build(forms, tags, [Constituent(0, len(forms), UNANNOTATED), *known])
        return sentence.annotated(tree=tree)

    def tag_scores(self, words: Tensor) -> Tensor:
        """Return the scores of tags, ``(batch, n, tags)``, from the vectors of words, ``(batch, n, size)``."""
        scores: Tensor = self.tag_score(words)
        return scores

    def metric(self) -> Parseval:
        """Return the metric: PARSEVAL scores of labelled brackets, by the rules of EVALB."""
        return Parseval()

    def observed(self, sentence: Sentence) -> Tree:
        """Return the tree of a sentence, without traces or function tags."""
        return require_complete(sentence)

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


def require_complete(sentence: Sentence) -> Tree:
    """Return the tree of a sentence, after checking that it is completely annotated.

    Raises:
        DataError: If the sentence has no tree, or a partial one.
    """
    tree = _tree(sentence)
    if is_partial(tree):
        message = "the tree is partly annotated, as its outermost label _ says; train on it with --partial"
        raise DataError(message, sentence.path, sentence.line)
    return tree


def is_partial(tree: Tree) -> bool:
    """Return whether a tree may have further constituents, as the outermost label `_` says."""
    return tree.nodes[0].label == UNANNOTATED


def _require_possible(sentence: Sentence) -> None:
    """Check that no constituent is annotated and forbidden."""
    known = {tuple(span) for span in _spans(_tree(sentence))}
    for part in sentence.forbidden:
        if part.kind == "span" and (*part.place, part.label) in known:
            message = f"the constituent {part.label!r} is annotated and forbidden; remove one"
            raise DataError(message, sentence.path, sentence.line)


def _spans(tree: Tree) -> list[Constituent]:
    """Return the labelled spans of the binarised tree, without an outermost label such as ROOT.

    Of a partial tree, leave out the spans that binarisation adds. Constituents over the same words have a joint
    label.
    """
    inner = Tree.build(tree.words, tree.tags, _without_top(tree))
    return [span for span in binarise(inner) if not is_partial(tree) or span.label != EMPTY]


def _without_top(tree: Tree) -> list[Constituent]:
    first, *rest = tree.constituents
    return rest if first.label in (EMPTY, UNANNOTATED, *TOPS) else [first, *rest]
