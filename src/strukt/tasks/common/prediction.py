"""Predictions for sentences, which can be written to a file or drawn."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from torch import Tensor

from strukt.data.sentence import UNANNOTATED, Sentence, SentenceT
from strukt.errors import DataError
from strukt.tasks.common.scores import not_nan
from strukt.viz import Diagram
from strukt.viz.sentences import tags_of
from strukt.viz.svg import Picture

DIGITS = 4
"""Number of decimal places of probabilities in files."""

_TAG_COLUMNS = ("xpos", "upos", "tag")
_NOTE = re.compile(rf"(?:p|p_label|p_tag)=(?:0\.\d{{{DIGITS}}}|1\.0{{{DIGITS}}})|code=[0-9a-f]+")


class Prediction(Protocol):
    """The prediction of a model for one sentence."""

    @property
    def shares(self) -> Mapping[str, tuple[float, float]]:
        """Numerator and denominator of each additional score, by name.

        The score of a corpus is the sum of the numerators of its sentences over that of the denominators.
        """

    def annotate(self, sentence: Sentence) -> Sentence:
        """Return the sentence with the prediction in place of its annotation.

        Args:
            sentence: The sentence that the prediction is for.

        Raises:
            ValueError: If the format of the sentence has no place for the prediction.
        """

    def diagram(self, sentence: Sentence) -> Picture:
        """Draw the prediction for the sentence."""


@dataclass(frozen=True)
class WordPrediction:
    """A prediction for each word, such as tags or heads.

    Attributes:
        columns: The predicted columns by name, each with a value for each word.
        notes: The notes for the MISC column by name, such as probabilities, each with a value for each word.
        shares: See `Prediction`.

    Examples:
        >>> from strukt.data import conllu
        >>> prediction = WordPrediction({"xpos": ["NNS", "VBP"]}, {"p": ["0.9000", "0.8000"]})
        >>> sentence = prediction.annotate(conllu.from_forms(["Dogs", "bark"]))
        >>> sentence.column("xpos"), sentence.column("misc")
        (['NNS', 'VBP'], ['p=0.9000', 'p=0.8000'])
    """

    columns: Mapping[str, Sequence[str | int]]
    notes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    shares: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def annotate(self, sentence: Sentence) -> Sentence:
        """Return the sentence with the predicted columns in place of its own, and with the notes.

        If an earlier prediction noted the probabilities of a column that is replaced, these notes are removed. If
        a sentence has probabilities of both arcs and tags, those of tags are noted as `p_tag`, and those of arcs
        as `p`. If tags are predicted, the new annotation forbids no tags; the same applies to arcs.

        Raises:
            ValueError: If the format of the sentence has no such columns, or no place for notes, or there is not
                one value for each word.
        """
        has_tags = any(name in self.columns for name in _TAG_COLUMNS)
        has_arcs = "head" in self.columns
        kinds = [kind for kind, predicted in (("tag", has_tags), ("arc", has_arcs)) if predicted]
        annotated = sentence.completed(*kinds).annotated(**self.columns)
        annotated = without_probabilities(annotated, tags=has_tags, arcs=has_arcs)
        if "p" not in self.notes:
            return annotated.with_misc(**self.notes) if self.notes else annotated
        if has_arcs:
            return _with_tags_beside_arcs(annotated).with_misc(**self.notes)
        return annotated.with_misc(**(_beside_arcs(self.notes) if _notes_arcs(annotated) else self.notes))

    def diagram(self, sentence: Sentence) -> Diagram:
        """Draw the words with the predicted tags and arcs; without predicted tags, with those of the sentence."""
        tags = next((self.columns[name] for name in _TAG_COLUMNS if name in self.columns), None)
        heads = self.columns.get("head", ())
        notes = self.notes.get("p", () if heads else self.notes.get("p_tag", ()))
        probabilities = [float(note) for note in notes]
        return Diagram(
            sentence.forms,
            tags=tags_of(sentence) if tags is None else [str(tag) for tag in tags],
            heads=[int(head) for head in heads],
            relations=[str(label) for label in self.columns.get("deprel", ())],
            tag_probabilities=() if heads else probabilities,
            head_probabilities=probabilities if heads else (),
        )


def without_probabilities(sentence: SentenceT, tags: bool = False, arcs: bool = False) -> SentenceT:
    """Return the sentence without the probabilities that an earlier prediction noted for tags or for arcs.

    The note `p` is the probability of an arc if the word also has the note `p_label`, otherwise that of a tag;
    beside an arc, the probability of a tag is the note `p_tag`.

    Args:
        sentence: A sentence with notes on words, if it has any.
        tags: Whether to remove the probabilities of tags, and the codes beside them.
        arcs: Whether to remove the probabilities of arcs and of their labels.

    Examples:
        >>> from strukt.data import conllu
        >>> parsed = conllu.from_forms(["Stop"]).with_misc(p=["0.9712"], p_label=["0.9954"], Gloss=["halt"])
        >>> without_probabilities(parsed, tags=True) == parsed
        True
        >>> without_probabilities(parsed, arcs=True).column("misc")
        ['Gloss=halt']
    """
    if not any("p=" in line or "p_" in line for line in sentence.block.lines):
        return sentence
    before = sentence.with_misc().column("misc")  # if the format has no notes yet, with empty ones
    after = [_without(misc, tags, arcs) for misc in before]
    return sentence if after == before else sentence.annotated(misc=after)


def _without(misc: str, tags: bool, arcs: bool) -> str:
    """Return a MISC cell without the probabilities that a prediction wrote there for tags or for arcs."""
    notes = {note: note.partition("=")[0] for note in misc.split("|")}
    keys = _keys(misc)
    removed = {
        "p": arcs if "p_label" in keys else tags,
        "p_label": arcs,
        "p_tag": tags,
        "code": tags and not keys.isdisjoint(("p", "p_tag")),
    }
    kept = [note for note, key in notes.items() if key not in keys or not removed[key]]
    return "|".join(kept) or UNANNOTATED


def _beside_arcs(notes: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """Return the notes of tags under the names that they have beside those of arcs."""
    return {"p_tag" if key == "p" else key: values for key, values in notes.items()}


def _notes_arcs(sentence: Sentence) -> bool:
    """Return whether an earlier prediction noted the probabilities of arcs."""
    return any("p_label=" in line for line in sentence.block.lines) and any(
        _keys(misc).issuperset(("p", "p_label")) for misc in sentence.with_misc().column("misc")
    )


def _with_tags_beside_arcs(sentence: SentenceT) -> SentenceT:
    """Return the sentence with the notes `p` of an earlier prediction of tags renamed to `p_tag`."""
    before = sentence.column("misc")
    after = ["|".join(map(_renamed, misc.split("|"))) if "p=" in misc else misc for misc in before]
    return sentence if after == before else sentence.annotated(misc=after)


def _renamed(note: str) -> str:
    return f"p_tag={note[2:]}" if note.startswith("p=") and _NOTE.fullmatch(note) else note


def _keys(misc: str) -> set[str]:
    """Return the names of the notes that a prediction wrote to a MISC cell."""
    return {note.partition("=")[0] for note in misc.split("|") if _NOTE.fullmatch(note)}


def probability_notes(probabilities: Tensor) -> list[str]:
    """Format probabilities with `DIGITS` decimal places, as in files.

    Raises:
        ScoresError: If a probability is NaN.

    Examples:
        >>> import torch
        >>> probability_notes(torch.tensor([0.5, 0.99999]))
        ['0.5000', '1.0000']
    """
    return [f"{value:.{DIGITS}f}" for value in not_nan(probabilities).tolist()]


def noted(sentence: Sentence, probabilities: Tensor) -> Sentence:
    """Return the sentence with the probability of each word as a note `p`, with `DIGITS` significant digits.

    The probabilities are ``(n,)`` for n words.

    Raises:
        ScoresError: If a probability is NaN.
        DataError: If the format of the sentence has no place for notes.

    Examples:
        >>> import torch
        >>> from strukt.data import conllu
        >>> noted(conllu.from_forms(["a", "rare"]), torch.tensor([0.25, 0.00002])).column("misc")
        ['p=0.2500', 'p=2.000e-05']
    """
    digits = [f"{value:#.{DIGITS}g}" for value in not_nan(probabilities).tolist()]
    try:
        return sentence.with_misc(p=digits)
    except ValueError as error:
        raise DataError(str(error), sentence.path, sentence.line) from error


def diagrams_of_heads(sentences: Sequence[Sentence], heads: Tensor) -> list[Diagram]:
    """Draw words with arcs from their heads.

    Args:
        sentences: The sentences of a batch.
        heads: ``(batch, n)``, numbered as in the column HEAD; padding is ignored.
    """
    return [
        Diagram(sentence.forms, heads=row[: len(sentence)].tolist())
        for sentence, row in zip(sentences, heads, strict=True)
    ]
