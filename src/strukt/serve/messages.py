"""Requests to the service and its responses, as JSON; the OpenAPI documentation is generated from them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field
from pydantic import Tag as Case

View = Literal["mode", "marginals", "samples", "kbest", "sparsemap"]
"""Views of a distribution over structures."""

Format = Literal["conllu", "columns", "brackets", "jsonl", "cogs", "labelled", "pairs", "listops", "text"]
"""Formats of files, as in `strukt.data.corpus.FORMATS`."""

Text = Annotated[
    str, Field(description="Running text, which is split into words; the task nli expects two lines")
]


class Message(BaseModel):
    """A message with strict types, so that a mistake is reported instead of silently converted."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


class Tag(Message):
    """The tag of a word.

    Attributes:
        word: The word, counted from 1.
        tag: Its tag.
    """

    word: int = Field(ge=1)
    tag: str


class Arc(Message):
    """The head of a word.

    Attributes:
        word: The word, counted from 1.
        head: Its head, counted from 1; 0 is the root.
    """

    word: int = Field(ge=1)
    head: int = Field(ge=0)


class Span(Message):
    """A constituent or an entity: a span of words with a label.

    Attributes:
        start: The first word, counted from 0.
        end: The position after the last word.
        label: The label; those of several constituents of the same words are joined by spaces, those of entities
            by tabs.
    """

    start: int = Field(ge=0)
    end: int = Field(ge=1)
    label: str


Kind = Literal["tag", "arc", "span"]
"""The kinds of parts of structures."""


def _kind(part: Any) -> Kind | None:
    """Return the kind of a part, by the field that no other kind has."""
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
"""A part of a structure; its kind depends on the task of the model."""

Parts = Annotated[list[Part], Field(max_length=500)]


class PredictRequest(Message):
    """A request for the structures of some texts.

    Attributes:
        texts: The texts, one sentence each.
        model: The name of a model; may be omitted if there is only one.
        view: The view of the distribution.
        temperature: Divisor of all scores; above 1 the distribution becomes more even, below 1 sharper.
        k: Number of structures in the view `kbest`, and of samples in the view `samples`.
        seed: Seed of the view `samples`; the same seed draws the same samples.
        required: Only structures with all of these parts are considered; for a single text.
        forbidden: Only structures with none of these parts are considered; for a single text.
        pictures: Return a picture of each structure, too.
        conllu: Return each structure as CoNLL-U, too, if it consists of tags or arcs.
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


class AnnotatedPart(Message):
    """A part of a structure, or an alternative to one, with its relation and probability.

    Attributes:
        part: The part, in the form in which it can be required or forbidden.
        relation: The label, if the part is an arc.
        probability: The marginal probability, in the view `marginals`.
    """

    part: Part
    relation: str | None = None
    probability: float | None = None


class Structure(Message):
    """One tag sequence, one tree, one set of entities.

    Attributes:
        parts: The parts of the structure.
        probability: Probability of the structure, given the conditions and the temperature of the request.
        weight: Its weight in the view `sparsemap`, and its share of the samples in the view `samples`.
        picture: The picture as SVG, if requested.
        conllu: The sentence with this structure as CoNLL-U, if requested.
    """

    parts: list[AnnotatedPart]
    probability: float | None = None
    weight: float | None = None
    picture: str | None = None
    conllu: str | None = None


class TextResult(Message):
    """The structures of one text.

    Attributes:
        words: The words of the text.
        structures: The structures, the most probable or the heaviest first; only the best one in the views `mode`
            and `marginals`.
        alternatives: All parts with a probability of at least 0.01, in the view `marginals`.
        overlay: The first structures, at most nine, in one picture as SVG, if there are several and pictures were
            requested. Parts that all structures share are grey; the others are drawn with the weight of the
            structures that have them (shares of `samples`, probabilities of `kbest`).
        partial: The sentence with only the required parts, and `_` elsewhere, as `strukt train --partial` reads
            it, if CoNLL-U was requested and has columns for the parts.
        output: The output of `strukt predict`, for models that have predictions only.
    """

    words: list[str]
    structures: list[Structure]
    alternatives: list[AnnotatedPart] = []
    overlay: str | None = None
    partial: str | None = None
    output: str | None = None


class PredictResponse(Message):
    """The structures of all texts of a request.

    Attributes:
        model: The name of the model.
        answers: One result for each text, in their order.
    """

    model: str
    answers: list[TextResult]


class AnnotateRequest(Message):
    """A file to annotate.

    Attributes:
        name: The name of the file, for messages; its suffix determines the format (`.conllu`, `.txt` ...).
        text: The content.
        format: The format, if the name does not determine it.
        model: The name of a model; may be omitted if there is only one.
        probabilities: Write the probability of each predicted part, too.
    """

    name: str = Field(min_length=1, max_length=200)
    text: str
    format: Format | None = None
    model: str | None = None
    probabilities: bool = False


class AnnotateResponse(Message):
    """An annotated file, as `strukt predict` writes it.

    Attributes:
        name: A name for the file.
        text: The content.
        sentences: Number of sentences.
        words: Number of words.
        notes: Notes on what was repaired when the file was read.
    """

    name: str
    text: str
    sentences: int
    words: int
    notes: list[str]


class ModelCard(Message):
    """A served model.

    Attributes:
        name: The name of the model.
        task: The task of the model.
        views: The views that the model supports.
        part: The kind of parts that can be required or forbidden; null if there is none.
        examples: Example texts from the development corpus.
    """

    name: str
    task: str
    views: list[View]
    part: Kind | None
    examples: list[Text] = []


class Problem(Message):
    """The reason why there is no answer.

    Attributes:
        error: The reason, in one line.
    """

    error: str
