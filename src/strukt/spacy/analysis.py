"""Predictions of a model for the words of a sentence, in spaCy's terms: tags, heads, spans."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from spacy.parts_of_speech import IDS as PARTS_OF_SPEECH

from strukt.data.conllu import Sentence
from strukt.data.tag_schemes.spans import spans
from strukt.errors import SettingError
from strukt.tasks.common.model import Model
from strukt.tasks.common.prediction import Prediction, WordPrediction
from strukt.tasks.constituency.model import ConstituencyParser
from strukt.tasks.constituency.prediction import TreePrediction
from strukt.tasks.dependency.model import Parser
from strukt.tasks.ner.model import EntityModel
from strukt.tasks.ner.prediction import EntityPrediction
from strukt.tasks.pipeline.model import Pipeline
from strukt.tasks.pipeline.prediction import JointPrediction
from strukt.tasks.tag.model import Tagger

Supported = Tagger | Parser | EntityModel | ConstituencyParser | Pipeline
"""The models whose predictions a `Doc` can represent."""

TagAttribute = Literal["tag_", "pos_"]


@dataclass(frozen=True)
class Analysis:
    """A predicted structure over the words of a sentence.

    Attributes that the model does not predict are None. Probabilities are empty if they were not requested.

    Attributes:
        tags: The tag of each word.
        heads: The head of each word, counted from 1; 0 for the root.
        relations: The relation of each word to its head.
        spans: First word (from 0), word after the last, and label of each span; outer spans before inner spans.
        bracketed: The constituency tree in brackets, in one line.
        word_probabilities: The probability of each word's tag; of the arc from its head, if heads are predicted.
        tag_probabilities: The probability of each word's tag, if both tags and heads are predicted.
        relation_probabilities: The probability of each word's relation, given its head.
        span_probabilities: The probability of each span.
    """

    tags: Sequence[str] | None = None
    heads: Sequence[int] | None = None
    relations: Sequence[str] | None = None
    spans: Sequence[tuple[int, int, str]] | None = None
    bracketed: str | None = None
    word_probabilities: Sequence[float] | None = None
    tag_probabilities: Sequence[float] | None = None
    relation_probabilities: Sequence[float] | None = None
    span_probabilities: Sequence[float] | None = None


def require_supported(model: Model) -> Supported:
    """Return the model, after checking that a `Doc` can represent its predictions.

    Raises:
        SettingError: If a `Doc` cannot.
    """
    if not isinstance(model, Supported):
        raise SettingError(
            f"model is of the task {model.task}; expected one of tag, dependency, ner, pipeline and constituency"
        )
    return model


def tag_attribute(model: Supported) -> TagAttribute:
    """Return the token attribute for the tags of a model: `pos_` if all are UPOS tags, otherwise `tag_`."""
    tagger = model.parts["tag"] if isinstance(model, Pipeline) and "tag" in model.parts else model
    if isinstance(tagger, Tagger) and tagger.config.column == "upos":
        return "pos_" if set(tagger.vocabularies["labels"].symbols) <= set(PARTS_OF_SPEECH) else "tag_"
    return "tag_"


def has_entities(model: Supported) -> bool:
    """Return True if the spans of a model are entities, not constituents; tags may mark entities, too."""
    if isinstance(model, Pipeline):
        return "ner" in model.parts
    return isinstance(model, EntityModel) or (isinstance(model, Tagger) and model.marks_spans)


def labels_of(model: Supported) -> tuple[str, ...]:
    """Return all tags, relations or labels of spans that a model may predict, in alphabetical order."""
    if isinstance(model, Pipeline):
        of_parts = [labels_of(cast(Supported, part)) for part in model.parts.values()]
        return tuple(sorted({label for labels in of_parts for label in labels}))
    if isinstance(model, EntityModel):
        return tuple(model.types)
    symbols = model.vocabularies["labels"].symbols
    if isinstance(model, ConstituencyParser):
        return tuple(sorted({label for chain in symbols for label in chain.split()}))
    return tuple(sorted(symbols))


def empty_analysis(model: Supported) -> Analysis:
    """Return the analysis of a sentence without words."""
    if isinstance(model, Pipeline):
        return _joint(empty_analysis(cast(Supported, part)) for part in model.parts.values())
    if isinstance(model, Parser):
        return Analysis(heads=(), relations=(), word_probabilities=(), relation_probabilities=())
    if isinstance(model, ConstituencyParser):
        return Analysis(tags=(), spans=(), bracketed="", span_probabilities=())
    if isinstance(model, EntityModel):
        return Analysis(spans=(), span_probabilities=())
    return _of_tags([], has_entities(model), [])


def analyses(model: Supported, sentences: Sequence[Sentence], probabilities: bool = False) -> list[Analysis]:
    """Return the predictions of a model for each sentence.

    Args:
        model: A model that `require_supported` accepts.
        sentences: The sentences; only their words are read.
        probabilities: Whether to compute the probability of each tag, arc and span.
    """
    predictions = model.batched(
        sentences, lambda batch: cast("Sequence[Prediction]", model.predict_batch(batch, probabilities))
    )
    return [_analysis(prediction, has_entities(model)) for prediction in predictions]


def entity_spans(tags: Sequence[str]) -> list[tuple[int, int, str]]:
    """Return the spans that the tags of a sentence mark.

    Examples:
        >>> entity_spans(["B-PER", "I-PER", "O"])
        [(0, 2, 'PER')]
    """
    return [(first, last + 1, label) for label, first, last in spans(tags)]


def _analysis(prediction: Prediction, marks_spans: bool) -> Analysis:
    """Convert the prediction for a sentence; if `marks_spans`, its tags mark spans, such as entities."""
    if isinstance(prediction, JointPrediction):
        return _joint(_analysis(part, marks_spans=False) for part in prediction.parts.values())
    if isinstance(prediction, WordPrediction):
        return _of_words(prediction, marks_spans)
    assert isinstance(prediction, (TreePrediction, EntityPrediction))
    shown = [(bracket.start, bracket.end, bracket.label) for bracket in prediction.brackets]
    known = [bracket.probability for bracket in prediction.brackets if bracket.probability is not None]
    if isinstance(prediction, EntityPrediction):
        return Analysis(spans=shown, span_probabilities=known)
    tree = prediction.tree
    return Analysis(tags=tree.tags, spans=shown, bracketed=str(tree), span_probabilities=known)


def _joint(analyses: Iterable[Analysis]) -> Analysis:
    """Merge the analyses of a pipeline's components; later components replace values of earlier ones.

    If heads follow tags, the probabilities of the tags become `tag_probabilities`.
    """
    known: dict[str, Any] = {}
    for analysis in analyses:
        if "tags" in known and analysis.heads is not None:
            known["tag_probabilities"] = known["word_probabilities"]
        known |= {name: value for name, value in vars(analysis).items() if value is not None}
    return Analysis(**known)


def _of_words(prediction: WordPrediction, marks_spans: bool) -> Analysis:
    """Convert a prediction of heads and relations, or of one column of tags."""
    columns, notes = dict(prediction.columns), prediction.notes
    arcs_or_tags = [float(note) for note in notes.get("p", notes.get("p_tag", ()))]
    if "head" not in columns:
        (tags,) = columns.values()
        return _of_tags([str(tag) for tag in tags], marks_spans, arcs_or_tags)
    return Analysis(
        heads=[int(head) for head in columns["head"]],
        relations=[str(label) for label in columns["deprel"]],
        word_probabilities=arcs_or_tags,
        relation_probabilities=[float(note) for note in notes.get("p_label", ())],
    )


def _of_tags(tags: Sequence[str], marks_spans: bool, probabilities: Sequence[float]) -> Analysis:
    """Return the analysis of tags, or of the spans that they mark."""
    if marks_spans:
        return Analysis(spans=entity_spans(tags), word_probabilities=probabilities)
    return Analysis(tags=tags, word_probabilities=probabilities)
