"""Scores of annotated documents for `nlp.evaluate` and `spacy evaluate`, computed by spaCy's own scorers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast

from spacy.pipeline.dep_parser import parser_score  # type: ignore[import-not-found]
from spacy.pipeline.spancat import spancat_score
from spacy.scorer import Scorer, get_ner_prf
from spacy.training import Example

from strukt.spacy.analysis import Supported, has_entities, tag_attribute
from strukt.tasks.constituency.model import ConstituencyParser
from strukt.tasks.dependency.model import Parser
from strukt.tasks.ner.model import EntityModel
from strukt.tasks.pipeline.model import Pipeline
from strukt.tasks.tag.model import Tagger


def scores(model: Supported, examples: Iterable[Example], name: str) -> dict[str, Any]:
    """Return the scores of what a model predicts, under the names of spaCy's own components.

    These are ``tag_acc`` or ``pos_acc`` of tags, ``dep_uas``, ``dep_las`` and ``sents_f`` of trees, ``ents_f`` of
    entities, and, for the tasks `ner` and `constituency`, ``spans_NAME_f`` of spans in ``doc.spans[name]``. They
    are shares, not per cent, and None without gold annotation. Punctuation does not count in trees.

    Args:
        model: The model.
        examples: Documents with predicted and gold annotation.
        name: The name of the component, under which spans are stored.
    """
    examples = list(examples)
    if isinstance(model, Pipeline):
        parts = [scores(cast(Supported, part), examples, name) for part in model.parts.values()]
        return {key: value for part in parts for key, value in part.items()}
    result: dict[str, Any] = {}
    for score in _scorers(model, name):
        result |= score(examples)
    return result


def _scorers(model: Supported, name: str) -> list[Callable[[list[Example]], dict[str, Any]]]:
    """Return the scorers of the attributes that a model other than a pipeline sets."""
    if isinstance(model, Parser):
        return [parser_score]
    result: list[Callable[[list[Example]], dict[str, Any]]] = []
    if isinstance(model, ConstituencyParser) or (isinstance(model, Tagger) and not model.marks_spans):
        attribute = tag_attribute(model).removesuffix("_")
        result.append(lambda examples: Scorer.score_token_attr(examples, attribute))
    if has_entities(model):
        result.append(get_ner_prf)
    if isinstance(model, (EntityModel, ConstituencyParser)):
        result.append(lambda examples: spancat_score(examples, spans_key=name, allow_overlap=True))
    return result
