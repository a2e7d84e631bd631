"""The tag sequences of taggers, and the dependency trees of parsers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor
from typing_extensions import override

from strukt.data.sentence import UNANNOTATED, Sentence
from strukt.serve.messages import Arc, PredictRequest, Tag
from strukt.serve.structures import (
    Answer,
    Index,
    ModelT,
    PartError,
    PartT,
    Picture,
    Structures,
    number_of,
    shown,
)
from strukt.structures.distribution import StructuredDistribution
from strukt.tasks.common.batch import Batch
from strukt.tasks.common.prediction import Prediction, WordPrediction
from strukt.tasks.dependency.model import Parser
from strukt.tasks.dependency.partial_trees import label_weights
from strukt.tasks.tag.model import Tagger
from strukt.viz import Diagram


class WordStructures(Structures[ModelT, PartT]):
    """Structures in which each word has one part: a tag or a head."""

    @property
    @override
    def labels(self) -> Sequence[str]:
        return self.model.vocabularies["labels"].symbols

    @override
    def used(self, event: Tensor, request: PredictRequest) -> list[Index]:
        return list(enumerate(event.tolist()))


class Tags(WordStructures[Tagger, Tag]):
    """The tag sequences of a tagger."""

    kind = "tag"
    file = "tags.conllu"

    @override
    def part(self, index: Index) -> Tag:
        word, tag = index
        return Tag(word=word + 1, tag=self.labels[tag])

    @override
    def index(self, part: Tag) -> Index:
        return part.word - 1, number_of(part.tag, self.labels)

    @override
    def prediction(self, batch: Batch, event: Tensor, request: PredictRequest) -> WordPrediction:
        return WordPrediction({self.model.config.column: [self.labels[tag] for tag in event.tolist()]})

    @override
    def picture(self, answer: Answer) -> Picture:
        tags = [self.labels[tag] for tag in answer.event.tolist()]
        return Diagram(answer.sentence.forms, tags=tags, tag_probabilities=answer.probabilities)

    @override
    def partial(self, sentence: Sentence, required: Sequence[Tag]) -> Sentence:
        tags = [UNANNOTATED] * len(sentence)
        for part in required:
            tags[part.word - 1] = part.tag
        return sentence.annotated(**{self.model.config.column: tags})


class Arcs(WordStructures[Parser, Arc]):
    """The dependency trees of a parser.

    Events have heads only. Conditions on relations change the scores of arcs, and the relations of predictions.
    """

    kind = "arc"
    file = "trees.conllu"

    @override
    def part(self, index: Index) -> Arc:
        word, head = index
        return Arc(word=word + 1, head=head)

    @override
    def index(self, part: Arc) -> Index:
        if part.head == part.word:
            raise PartError(
                f"{shown(part)}: a word cannot be its own head; give another word, or 0 for the root"
            )
        return part.word - 1, part.head

    @override
    def distribution(self, batch: Batch, request: PredictRequest) -> StructuredDistribution:
        arcs, vectors = self.model.scores(batch.inputs, batch.lengths)
        weights = label_weights(self.model, vectors, self._denied(batch, request))
        return self.reshaped(self.model.trees(arcs + weights, batch.lengths), request)

    @override
    def masks(self, request: PredictRequest, shape: torch.Size) -> tuple[Tensor, Tensor]:
        whole = [part for part in self.chosen(request.forbidden) if part.relation is None]
        return self.mask(self.chosen(request.required), shape), self.mask(whole, shape)

    def _denied(self, batch: Batch, request: PredictRequest) -> Tensor:
        """Return a mask of the labels that arcs must not have, ``(1, n, n + 1, labels)``."""
        words = len(batch.sentences[0])
        denied = torch.zeros(words, words + 1, len(self.labels), dtype=torch.bool)
        for parts, is_required in ((request.required, True), (request.forbidden, False)):
            for part in self.chosen(parts):
                if part.relation is None:
                    continue
                label = number_of(part.relation, self.labels)
                mask = self.mask([part], denied.shape[:2])
                ruled_out = (torch.arange(len(self.labels)) == label) ^ is_required
                denied[mask] |= ruled_out
        return denied.unsqueeze(0)

    @override
    def prediction(self, batch: Batch, event: Tensor, request: PredictRequest) -> WordPrediction:
        (prediction,) = self.model.labelled(batch, event.unsqueeze(0), self._denied(batch, request))
        return prediction

    @override
    def picture(self, answer: Answer) -> Picture:
        return Diagram(
            answer.sentence.forms,
            heads=answer.event.tolist(),
            relations=self.relations(answer.prediction),
            head_probabilities=answer.probabilities,
        )

    @override
    def relations(self, prediction: Prediction) -> Sequence[str]:
        return cast("Sequence[str]", cast("WordPrediction", prediction).columns["deprel"])

    @override
    def partial(self, sentence: Sentence, required: Sequence[Arc]) -> Sentence:
        heads, relations = ([UNANNOTATED] * len(sentence) for _ in range(2))
        for part in required:
            heads[part.word - 1] = str(part.head)
            relations[part.word - 1] = part.relation or UNANNOTATED
        return sentence.annotated(head=heads, deprel=relations)
