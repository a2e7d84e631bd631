"""The k best structures of sentences with their probabilities, for all supported models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, cast

import torch
from torch import Tensor

from strukt.data.conllu import Sentence
from strukt.data.constituents.binarisation import EMPTY
from strukt.nn.dependency_scorer import reserve_root
from strukt.spacy.analysis import Analysis, Supported, entity_spans
from strukt.structures.topk import TopK
from strukt.tasks.common.batch import Batch
from strukt.tasks.common.spans.code_spans import CodeSpans
from strukt.tasks.common.spans.layer import SpanLayer, spans_of
from strukt.tasks.constituency.model import ConstituencyParser
from strukt.tasks.dependency.model import TREES, Parser
from strukt.tasks.ner.model import EntityModel
from strukt.tasks.ner.tag_spans import TagSpans
from strukt.tasks.pipeline.model import Pipeline
from strukt.tasks.tag.model import Tagger

Part = Tagger | Parser | EntityModel | ConstituencyParser
"""The models that predict one kind of structure."""

AnalysisOf = Callable[[int, int, int], Analysis]
"""A function of the index in the batch, the rank and the number of words that returns the structure."""


class Weighted(NamedTuple):
    """A structure and its probability.

    Attributes:
        probability: The probability of the structure; the sum of those of merged structures, see `k_best`.
        analysis: The structure, without probabilities of its parts.
    """

    probability: float
    analysis: Analysis


Best = Mapping[str, Sequence[Weighted]]
"""The best structures of a sentence, the best first, by the name of the pipeline's component that predicts them.

Models other than pipelines have a single entry, by the name of their task.
"""


def empty_best(model: Supported) -> Best:
    """Return the best structures of a sentence without words: an empty list for each component."""
    return {name: [] for name in _parts(model)}


def k_best(model: Supported, sentences: Sequence[Sentence], k: int) -> list[Best]:
    """Return the best structures of each sentence.

    Args:
        model: A model that `require_supported` accepts.
        sentences: The sentences, each with at least one word; only their words are read.
        k: The number of best structures of the distribution, 1 or more. Structures that are the same to spaCy,
            such as trees with the same entities, are merged, and their probabilities added.

    Returns:
        For each sentence and each component, at most k structures, the most probable first.
    """
    return model.batched(sentences, lambda batch: _of_batch(model, batch, k))


def _parts(model: Supported) -> dict[str, Part]:
    """Return the components of a pipeline by name; any other model by the name of its task."""
    parts = model.parts.items() if isinstance(model, Pipeline) else [(model.task, model)]
    return {name: cast(Part, part) for name, part in parts}


def _of_batch(model: Supported, batch: Batch, k: int) -> list[Best]:
    """Return the best structures of each sentence of a batch."""
    parts = _parts(model)
    batches = model.batches(batch) if isinstance(model, Pipeline) else {model.task: batch}
    of_parts = [_of_part(part, batches[name], k) for name, part in parts.items()]
    return [dict(zip(parts, best, strict=True)) for best in zip(*of_parts, strict=True)]


def _of_part(model: Part, batch: Batch, k: int) -> list[list[Weighted]]:
    """Return at most k structures of each sentence, the most probable first; equal ones are merged."""
    best, analysis_of = _of_model(model, batch, k)
    probabilities, counts = best.probs.double().tolist(), (best.scores > -torch.inf).sum(-1).tolist()
    result = []
    for row, length in enumerate(batch.lengths.tolist()):
        merged: dict[Analysis, float] = {}
        for rank in range(counts[row]):
            analysis = analysis_of(row, rank, length)
            merged[analysis] = merged.get(analysis, 0.0) + probabilities[row][rank]
        ranked = sorted(merged.items(), key=lambda item: -item[1])
        result.append([Weighted(probability, analysis) for analysis, probability in ranked])
    return result


def _of_model(model: Part, batch: Batch, k: int) -> tuple[TopK, AnalysisOf]:
    """Return the k best events of each sentence, and the function that converts them to analyses."""
    if isinstance(model, Parser):
        return _of_parser(model, batch, k)
    return _of_tagger(model, batch, k) if isinstance(model, Tagger) else _of_span_model(model, batch, k)


def _of_parser(model: Parser, batch: Batch, k: int) -> tuple[TopK, AnalysisOf]:
    """Return the k best trees, with the best relation of each arc."""
    arcs, vectors = model.scores(batch.inputs, batch.lengths)
    best = TREES[model.config.trees](arcs, batch.lengths).topk(k)
    heads = best.events.tolist()
    symbols = model.vocabularies["labels"].symbols
    relations = [
        reserve_root(model.label_scores(vectors, each), each, symbols).argmax(-1).tolist()
        for each in best.events.unbind(1)
    ]

    def analysis_of(row: int, rank: int, length: int) -> Analysis:
        names = tuple(symbols[number] for number in relations[rank][row][:length])
        return Analysis(heads=tuple(heads[row][rank][:length]), relations=names)

    return best, analysis_of


def _of_tagger(model: Tagger, batch: Batch, k: int) -> tuple[TopK, AnalysisOf]:
    """Return the k best tag sequences."""
    best = model.distribution_of(batch).topk(k)
    events, symbols = best.events.tolist(), model.vocabularies["labels"].symbols

    def analysis_of(row: int, rank: int, length: int) -> Analysis:
        tags = tuple(symbols[number] for number in events[row][rank][:length])
        return Analysis(spans=tuple(entity_spans(tags))) if model.marks_spans else Analysis(tags=tags)

    return best, analysis_of


def _of_span_model(model: EntityModel | ConstituencyParser, batch: Batch, k: int) -> tuple[TopK, AnalysisOf]:
    """Return the k best trees of spans, or the k best sequences of tags that mark spans."""
    best = model.distribution_of(batch).topk(k)

    def analysis_of(row: int, rank: int, length: int) -> Analysis:
        labelled = _labelled(model.layer, best.events[row, rank], length)
        return Analysis(
            spans=tuple(
                (start, end, part)
                for start, end, label in labelled
                if label != EMPTY
                for part in label.split(model.separator)
                if part != EMPTY
            )
        )

    return best, analysis_of


def _labelled(layer: SpanLayer, event: Tensor, length: int) -> list[tuple[int, int, str]]:
    """Return start, end and label of the spans of an event; `length` is the number of words."""
    if isinstance(layer, TagSpans):
        return entity_spans([layer.tags[number] for number in event[:length].tolist()])
    label_of = layer.label if isinstance(layer, CodeSpans) else layer.labels.symbols.__getitem__
    return [(start, end, label_of(number)) for start, end, number in spans_of(event)]
