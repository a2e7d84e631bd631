"""From an annotated sentence to what is drawn of it."""

from __future__ import annotations

from strukt.data.sentence import Sentence
from strukt.viz.diagram import Diagram

NOTE = "p="
"""How models note the probability of their prediction in the MISC column."""


def diagram_of(sentence: Sentence) -> Diagram:
    r"""The tags, arcs and probabilities that a sentence carries.

    Args:
        sentence: A predicted sentence with the columns of CoNLL-U; XPOS tags are drawn before UPOS tags.

    Examples:
        >>> from strukt.data import conllu
        >>> sentence = conllu.from_forms(["Dogs", "bark"]).annotated(upos=["NOUN", "VERB"])
        >>> diagram_of(sentence).tags
        ['NOUN', 'VERB']
    """
    tags = _filled(sentence.column("xpos")) or _filled(sentence.column("upos"))
    heads = [int(head) for head in _filled(sentence.column("head"))]
    probabilities = _probabilities(sentence)
    return Diagram(
        forms=sentence.forms,
        tags=tags,
        heads=heads,
        relations=_filled(sentence.column("deprel")) if heads else [],
        tag_probabilities=[] if heads else probabilities,
        head_probabilities=probabilities if heads else [],
    )


def _filled(column: list[str]) -> list[str]:
    """A column, or nothing if no word has a value in it."""
    return column if any(value != "_" for value in column) else []


def _probabilities(sentence: Sentence) -> list[float]:
    notes = [note for misc in sentence.column("misc") for note in misc.split("|") if note.startswith(NOTE)]
    return [float(note.removeprefix(NOTE)) for note in notes]
