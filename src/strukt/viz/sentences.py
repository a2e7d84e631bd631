"""Pictures of annotated sentences, read from files or predicted by models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatch

from strukt.data import brackets, classes, columns, conllu, entities, listops
from strukt.data.conllu import constituency, sentence_labels
from strukt.data.constituents import Tree, unescape
from strukt.data.files.problems import Problem
from strukt.data.logical_forms import cogs
from strukt.data.sentence import Sentence
from strukt.viz.pictures.brackets.picture import Bracket, BracketDiagram
from strukt.viz.pictures.dependency_tree.picture import Diagram

NOTE = "p="
"""The prefix of the probability of the main prediction in the MISC column."""

EMPTY = "_"
"""The value of unknown entries in a column."""


@singledispatch
def picture(sentence: Sentence) -> Diagram | BracketDiagram:
    r"""Return the picture of a sentence with its annotation: tags, arcs, brackets, or its class as the title.

    Args:
        sentence: A sentence of any format; without annotation only its words are drawn.

    Raises:
        ValueError: If the annotation cannot be drawn, for example because entities cross.

    Examples:
        >>> import io
        >>> [tree] = brackets.read(io.BytesIO(b"(S (NP (NNS Dogs)) (VP (VBP bark)))\n"))
        >>> picture(tree).text()
        '(S (NP Dogs) (VP bark))'
    """
    return Diagram(sentence.forms)


def diagram_of(sentence: Sentence) -> Diagram:
    r"""Return the tags, arcs and probabilities of a sentence.

    Args:
        sentence: A sentence with the columns of CoNLL-U; XPOS tags take precedence over UPOS tags. Probabilities
            are read from MISC, where `strukt predict --probabilities` writes them; they are those of the arcs, or
            of the tags if the sentence has no heads.

    Raises:
        ValueError: If a head is out of range or the word itself, or if probabilities are malformed or present for
            some words only.

    Examples:
        >>> sentence = conllu.from_forms(["Dogs", "bark"]).annotated(upos=["NOUN", "VERB"])
        >>> diagram_of(sentence).tags
        ['NOUN', 'VERB']
    """
    heads = [-1 if head == EMPTY else int(head) for head in _filled(sentence.column("head"))]
    probabilities = _probabilities(sentence)
    return Diagram(
        forms=sentence.forms,
        tags=tags_of(sentence),
        heads=heads,
        relations=_filled(sentence.column("deprel")) if heads else [],
        tag_probabilities=[] if heads else probabilities,
        head_probabilities=probabilities if heads else [],
    )


def tags_of(sentence: Sentence) -> list[str]:
    """Return the XPOS tags of a sentence with the columns of CoNLL-U, or else its UPOS tags, if it has any."""
    return _filled(sentence.column("xpos")) or _filled(sentence.column("upos"))


@picture.register
def _(sentence: conllu.Sentence) -> Diagram | BracketDiagram:
    diagram = diagram_of(sentence)
    tree = None if diagram.heads else constituency.parse(sentence.block, sentence.words, _ignore)
    return _tree(tree) if tree else diagram


@picture.register
def _(sentence: sentence_labels.Sentence) -> Diagram:
    return replace(diagram_of(sentence.plain), title=sentence.label or "")


@picture.register
def _(sentence: classes.Sentence) -> Diagram:
    return Diagram(sentence.forms, title=sentence.label or "")


@picture.register
def _(sentence: brackets.Sentence) -> BracketDiagram:
    return _tree(sentence.tree)


@picture.register
def _(sentence: entities.Sentence) -> BracketDiagram:
    return BracketDiagram(sentence.forms, [Bracket(each.label, *each[:2]) for each in sentence.entities])


@picture.register
def _(sentence: columns.Sentence) -> Diagram:
    tagged = all(len(row) > 1 for row in sentence.rows)
    return Diagram(sentence.forms, sentence.column("tag") if tagged else [])


@picture.register
def _(sentence: cogs.Sentence) -> Diagram:
    return Diagram(sentence.forms, title=sentence.logical_form)


@picture.register
def _(sentence: listops.Sentence) -> Diagram:
    arities = sentence.column("arity")
    title = "" if sentence.label is None else f"value {sentence.label}"
    tags = ["" if arity == listops.NONE else arity for arity in arities]
    return Diagram(sentence.forms, tags, sentence.heads, title=title)


def _tree(tree: Tree) -> BracketDiagram:
    """Return the picture of a constituency tree without its traces."""
    tree = tree.without_traces()
    constituents = [Bracket(each.label, each.start, each.end) for each in tree.constituents if each.label]
    return BracketDiagram([unescape(word) for word in tree.words], constituents, tree.tags)


def _ignore(_: Problem) -> None:
    """Ignore a problem of a tree."""


def _filled(column: Sequence[str]) -> list[str]:
    """Return a column, or an empty list if no word has a value in it."""
    return list(column) if any(value != EMPTY for value in column) else []


def _probabilities(sentence: Sentence) -> list[float]:
    """Return the probabilities in the MISC column, in the order of the words; words without one are left out."""
    notes = [note for misc in sentence.column("misc") for note in misc.split("|") if note.startswith(NOTE)]
    probabilities = [float(note.removeprefix(NOTE)) for note in notes]
    for probability in probabilities:
        if not 0 <= probability <= 1:
            raise ValueError(f"MISC has {NOTE}{probability}; expected a probability, from 0 to 1")
    return probabilities
