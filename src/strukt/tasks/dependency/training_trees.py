"""The sentences that a dependency parser learns from: with trees, partially annotated trees, or without trees."""

from __future__ import annotations

from collections.abc import Sequence

from strukt.data import conllu, corpus
from strukt.data.sentence import Sentence
from strukt.tasks.common.partial_annotation import may_be_projective, require_partial_tree, with_annotation
from strukt.tasks.common.sentences import require_format, trainable_sentences
from strukt.tasks.dependency.config import Config


def training_trees(config: Config, sentences: Sequence[Sentence]) -> Sequence[Sentence]:
    """Return the sentences with trees that the criterion can learn from, after checking their trees.

    Raises:
        DataError: If a sentence is not of a CoNLL-U file, or its heads are incompatible with a tree.

    Warns:
        UserWarning: If sentences are left out, because they have no annotation (with `partial`), or because their
            arcs cross and `trees` is ``projective`` (with criteria other than ``head``).
    """
    require = require_partial_tree if config.partial else conllu.require_tree
    trees: Sequence[Sentence] = [require(conllu_of(sentence)) for sentence in sentences]
    if config.partial:
        trees = with_annotation(trees, [has_annotation(tree) for tree in trees])
    if config.criterion == "head" or config.trees == "nonprojective":
        return trees
    return trainable_sentences(
        trees,
        [may_be_projective(conllu_of(tree)) for tree in trees],
        "sentences have crossing arcs, but --trees is projective",
    )


def unlabelled(config: Config) -> list[Sentence]:
    """Return the sentences of the unlabelled corpus, without trees; none if the option `unlabelled` is empty."""
    if not config.unlabelled:
        return []
    sentences = corpus.read(config.unlabelled, readers=corpus.WORDS)
    return [conllu.from_forms(s.forms, (), s.path, s.line) for s in sentences if s.forms]


def has_annotation(sentence: Sentence) -> bool:
    """Return whether the head of a word is known, or an arc is forbidden."""
    return any(head is not None for head in heads_of(sentence)) or any(
        part.kind == "arc" for part in sentence.forbidden
    )


def heads_of(sentence: Sentence) -> list[int | None]:
    """Return the head of each word; None for words without annotation."""
    return [word.head for word in conllu_of(sentence).words]


def conllu_of(sentence: Sentence) -> conllu.Sentence:
    """Return a sentence as one of CoNLL-U.

    Raises:
        DataError: If it is of another format.
    """
    return require_format(sentence, conllu.Sentence, "a dependency parser needs a CoNLL-U file")
