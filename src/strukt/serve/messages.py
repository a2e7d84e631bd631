"""The JSON messages of the service: requests and responses, from which its OpenAPI documentation is generated."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field
from pydantic import Tag as Case

View = Literal["mode", "marginals", "samples", "kbest", "sparsemap"]
"""The structures of a distribution that a request may ask for: the best one, also with the marginals of its parts;
samples; the k best; or those of SparseMAP, a sparse mixture of structures."""

Format = Literal["conllu", "columns", "brackets", "jsonl", "cogs", "labelled", "pairs", "listops", "text"]
"""Formats of files, as in `strukt.data.corpus.FORMATS`."""

Text = Annotated[
    str, Field(description="Running text, which is split into words; the task nli expects two lines")
]


class Message(BaseModel):
    """Base class of messages, which are immutable.

    Types are strict, and unknown fields are rejected, so that mistakes are reported, not converted or ignored.
    """

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


class Tag(Message):
    """The tag of a word.

    Attributes:
        word: The word, counted from 1.
        tag: The tag of the word.
    """

    word: int = Field(ge=1)
    tag: str


class Arc(Message):
    """The head of a word, and the label of the arc between them.

    Attributes:
        word: The word, counted from 1.
        head: The head of the word, counted from 1; 0 is the root.
        relation: The label of the arc; if omitted in a request, the arc is required, or forbidden, with any label.
    """

    word: int = Field(ge=1)
    head: int = Field(ge=0)
    relation: str | None = None


class Span(Message):
    """A constituent or an entity: a span of words with a label.

    Attributes:
        start: The first word, counted from 0.
        end: The position after the last word.
        label: The label. The labels of several constituents over the same words are joined by spaces, those of
            several entities by tabs.
    """

    start: int = Field(ge=0)
    end: int = Field(ge=1)
    label: str


Kind = Literal["tag", "arc", "span"]
"""The kinds of parts of structures."""


def kind_of(part: Any) -> Kind | None:
    """Return the kind of a part by a field that no other kind has; None if it has no such field."""
    fields = part if isinstance(part, dict) else getattr(part, "model_fields_set", ())
    return "arc" if "head" in fields else "tag" if "tag" in fields else "span" if "start" in fields else None


Part = Annotated[
    Annotated[Tag, Case("tag")] | Annotated[Arc, Case("arc")] | Annotated[Span, Case("span")],
    Discriminator(
        kind_of,
        custom_error_type="part",
        custom_error_message="a part has word and tag, word and head (and relation), or start, end and label",
    ),
]
"""A part of a structure; its kind depends on the task of the model."""

Parts = Annotated[list[Part], Field(max_length=500)]


class PredictRequest(Message):
    """A request for the structures of some texts.

    Attributes:
        texts: The texts, one sentence each.
        model: The name of a model; may be omitted if there is only one.
        view: The structures to return; `ModelCard.views` lists those of a model.
        temperature: Divisor of all scores; above 1, the distribution becomes more even, below 1 more peaked.
        k: Maximum number of structures in the view `kbest`, and number of samples in the view `samples`.
        seed: Seed of the view `samples`; the same seed draws the same samples.
        required: Consider only structures with all of these parts; for a single text.
        forbidden: Consider only structures with none of these parts; for a single text.
        pictures: Also return pictures of each structure.
        annotation: Also return the sentence annotated with each structure, and the sentence annotated with only
            the required and forbidden parts.
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
    annotation: bool = False


class AnnotatedPart(Message):
    """A part of a structure, or an alternative part, with its relation and probability.

    Attributes:
        part: The part, in the form in which a request can require or forbid it.
        relation: The label of the arc, if the part is an arc of a structure; omitted for alternatives.
        probability: The marginal probability in the view `marginals`; omitted in other views.
    """

    part: Part
    relation: str | None = None
    probability: float | None = None


class Structure(Message):
    """A structure of a sentence: a tag sequence, a tree, or a set of entities.

    Attributes:
        parts: The parts of the structure; empty for models without a distribution over structures.
        probability: Probability of the structure, given the required and forbidden parts and the temperature;
            omitted for models without a distribution over structures.
        weight: Weight of the structure in the view `sparsemap`; its share of the samples in the view `samples`;
            omitted in other views.
        pictures: The picture as SVG, if requested; of a pipeline, one of tags and tree, and one of entities.
        annotation: The sentence with this structure, if requested: JSON lines for entities, otherwise CoNLL-U.
    """

    parts: list[AnnotatedPart]
    probability: float | None = None
    weight: float | None = None
    pictures: list[str] = []
    annotation: str | None = None


class TextResult(Message):
    """The structures of one text.

    Attributes:
        words: The words of the text.
        structures: The structures, the most probable or the heaviest first; only the best structure in the views
            `mode` and `marginals`.
        alternatives: All parts with a probability of at least 0.01, in the view `marginals`.
        overlay: Up to nine of the first structures in one picture as SVG, if there are several and pictures were
            requested. Parts that all structures share are grey; other parts show the total weight of the
            structures with the part, where weights in the view `kbest` are probabilities.
        partial: The sentence in which only the required and forbidden parts are annotated, as
            `strukt train --partial` reads it, if annotation was requested.
        output: The output of `strukt predict`, only for models without a distribution over structures.
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
        answers: A result for each text, in the order of the texts.
    """

    model: str
    answers: list[TextResult]


class AnnotateRequest(Message):
    """A file to annotate.

    Attributes:
        name: The name of the file, for error messages; its suffix, such as `.conllu` or `.txt`, determines the
            format.
        text: The content of the file.
        format: The format of the file; if omitted, the name determines it.
        model: The name of a model; may be omitted if there is only one.
        probabilities: Also write the probability of each predicted part into the annotated file.
    """

    name: str = Field(min_length=1, max_length=200)
    text: str
    format: Format | None = None
    model: str | None = None
    probabilities: bool = False


class AnnotateResponse(Message):
    """An annotated file, as `strukt predict` writes it.

    Attributes:
        name: A name for the annotated file, such as `text.annotated.conllu` for `text.txt`.
        text: The content of the file.
        sentences: Number of sentences.
        words: Number of words.
        notes: Notes on repairs that were made when the file was read.
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
        parts: The kinds of parts that a request can require or forbid, with the labels that they may have; empty
            if it cannot.
        file: A name for files of annotated sentences; null if annotation is not returned.
        examples: Example texts from the development corpus.
    """

    name: str
    task: str
    views: list[View]
    parts: dict[Kind, list[str]] = {}
    file: str | None = None
    examples: list[Text] = []


class Problem(Message):
    """An error response.

    Attributes:
        error: The reason why there is no answer, in one line.
    """

    error: str
