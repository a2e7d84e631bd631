"""What the service is asked and what it answers, as JSON; OpenAPI documents it from here."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field
from pydantic import Tag as Case

View = Literal["mode", "marginals", "samples", "kbest", "sparsemap"]
"""What is to be seen of a distribution over structures."""

Format = Literal["conllu", "columns", "brackets", "jsonl", "cogs", "labelled", "pairs", "listops", "text"]
"""The formats of files, as in `strukt.data.corpus.FORMATS`."""

Text = Annotated[
    str, Field(description="Running text, which is cut into words; the task nli wants two lines")
]


class Message(BaseModel):
    """Strict, so that a mistake is told instead of guessed away."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


class Tag(Message):
    """A word has a tag.

    Attributes:
        word: The word, counted from 1.
        tag: Its tag.
    """

    word: int = Field(ge=1)
    tag: str


class Arc(Message):
    """A word has a head.

    Attributes:
        word: The word, counted from 1.
        head: Its head, counted from 1; 0 is the root.
    """

    word: int = Field(ge=1)
    head: int = Field(ge=0)


class Span(Message):
    """Some words together are a constituent or an entity.

    Attributes:
        start: The first of them, counted from 0.
        end: The word after the last of them.
        label: What they are; several constituents over the same words are joined by a space, entities by a TAB.
    """

    start: int = Field(ge=0)
    end: int = Field(ge=1)
    label: str


Kind = Literal["tag", "arc", "span"]
"""What a structure is made of."""


def _kind(part: Any) -> Kind | None:
    """By the field that no other kind has."""
    fields = part if isinstance(part, dict) else getattr(part, "model_fields_set", ())
    return "arc" if "head" in fields else "tag" if "tag" in fields else "span" if "start" in fields else None


Part = Annotated[
    Annotated[Tag, Case("tag")] | Annotated[Arc, Case("arc")] | Annotated[Span, Case("span")],
    Discriminator(
        _kind,
        custom_error_type="part",
        custom_error_message="a part has word and tag, word and head, or start, end and label",
    ),
]
"""What structures are made of; which kind, depends on the task of the model."""

Parts = Annotated[list[Part], Field(max_length=500)]


class Question(Message):
    """What is to be predicted of some texts.

    Attributes:
        texts: The texts, each one sentence.
        model: The name of a model; may be left out where there is only one.
        view: What of the distribution is to be seen.
        temperature: By which all scores are divided: above 1 the distribution becomes more even, below 1 sharper.
        k: How many structures: of the view `kbest` the best ones, of `samples` the number drawn.
        seed: Of `samples`: the same number draws the same ones.
        required: Only structures with all of these parts are considered; of a single text.
        forbidden: Only structures with none of these parts are considered; of a single text.
        pictures: Whether each structure is drawn, too.
        conllu: Whether each structure comes as CoNLL-U, too, where that has columns for it: of tags and arcs.
    """

    texts: list[Text] = Field(min_length=1, max_length=64)
    model: str | None = None
    view: View = "mode"
    temperature: float = Field(default=1.0, ge=0.01, le=100.0)
    k: int = Field(default=5, ge=1, le=50)
    seed: int = Field(default=1, ge=0, lt=2**31)
    required: Parts = []
    forbidden: Parts = []
    pictures: bool = False
    conllu: bool = False


class FoundPart(Message):
    """A part of a structure, or one that it could have.

    Attributes:
        part: Which one; it can be required or forbidden as it is.
        relation: Of an arc, its label.
        probability: Its marginal probability, of the view `marginals`.
    """

    part: Part
    relation: str | None = None
    probability: float | None = None


class Structure(Message):
    """One tag sequence, one tree, one set of entities.

    Attributes:
        parts: What it is made of.
        probability: That of the whole structure, under the conditions and at the temperature of the question.
        weight: Of the view `sparsemap` its weight, of `samples` the share of the samples that are this structure.
        picture: As SVG, if it was asked for.
        conllu: The sentence with this structure, if it was asked for.
    """

    parts: list[FoundPart]
    probability: float | None = None
    weight: float | None = None
    picture: str | None = None
    conllu: str | None = None


class Answer(Message):
    """What was found in one text.

    Attributes:
        words: The words of the text.
        structures: The best one; of other views several, the most probable or heaviest first.
        alternatives: Of the view `marginals`, all parts with a probability of at least 0.01.
        overlay: The first structures, at most nine, in one picture as SVG, if there are several and pictures were
            asked for: what all have is grey, the rest has the weight of the structures that have it (of `samples`
            their share, of `kbest` their probability).
        partial: The sentence with the required parts alone and `_` elsewhere, as `strukt train --partial` reads
            it, if CoNLL-U was asked for and has columns for them.
        output: What `strukt predict` writes, of models that show nothing but their prediction.
    """

    words: list[str]
    structures: list[Structure]
    alternatives: list[FoundPart] = []
    overlay: str | None = None
    partial: str | None = None
    output: str | None = None


class Answers(Message):
    """What was found in each of the texts.

    Attributes:
        model: The name of the model.
        answers: One for each text, in their order.
    """

    model: str
    answers: list[Answer]


class FileQuestion(Message):
    """A file that is to be annotated.

    Attributes:
        name: Its name, whose end tells the format (`.conllu`, `.txt` ...), and which messages have.
        text: What stands in it.
        format: The format, if the name does not tell.
        model: The name of a model; may be left out where there is only one.
        probabilities: Whether the probability of each predicted part is noted, too.
    """

    name: str = Field(min_length=1, max_length=200)
    text: str
    format: Format | None = None
    model: str | None = None
    probabilities: bool = False


class FileAnswer(Message):
    """A file with its annotation, as `strukt predict` writes it.

    Attributes:
        name: The name that it may have.
        text: What stands in it.
        sentences: How many there are.
        words: How many there are.
        notes: What was repaired, as it was read.
    """

    name: str
    text: str
    sentences: int
    words: int
    notes: list[str]


class ModelCard(Message):
    """A model that is served.

    Attributes:
        name: By which it is asked for.
        task: What it was trained for.
        views: What it can show.
        part: What can be required or forbidden; null if nothing can.
        examples: Texts to try it with, from its development corpus.
    """

    name: str
    task: str
    views: list[View]
    part: Kind | None
    examples: list[Text] = []


class Problem(Message):
    """Why there is no answer.

    Attributes:
        error: In one line.
    """

    error: str
