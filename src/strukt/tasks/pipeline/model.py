"""The model of pipelines: a tagger, a parser and an entity model that share one encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, cast

import torch
from torch import Tensor, nn
from typing_extensions import override

from strukt.data.sentence import Sentence
from strukt.data.vocabulary import Vocabulary
from strukt.errors import SettingError
from strukt.tasks.common.batch import Batch
from strukt.tasks.common.encoder.base import Encoder
from strukt.tasks.common.partial_annotation import with_annotation
from strukt.tasks.common.prediction import Prediction, WordPrediction
from strukt.tasks.common.structure_predictor import StructurePredictor, UncertainModel
from strukt.tasks.common.symbols import COLUMN, TYPES, Forms
from strukt.tasks.pipeline.components import COMPONENTS, Component, SharedEncoder
from strukt.tasks.pipeline.config import Config
from strukt.tasks.pipeline.metric import JointMetric
from strukt.tasks.pipeline.prediction import JointPrediction


class Pipeline(UncertainModel):
    """A pipeline: predicts tags, dependency trees and entities, and encodes each sentence once.

    The loss is the sum of the losses of its components.

    Args:
        config: The configuration of the task.
        vocabularies: The vocabularies of the encoder, and those of the components in use: `tags`, `relations` and
            `types`.
        encoder: The encoder that all components share.

    Attributes:
        parts: The model of each component, by the name of its task; names of saved weights begin with `parts`.

    Raises:
        SettingError: If the configuration specifies no component.

    Examples:
        >>> from strukt.tasks.pipeline import Config
        >>> from strukt.data import conllu
        >>> sentence = conllu.from_forms(["Dogs", "bark"])
        >>> sentence = sentence.annotated(xpos=["NNS", "VBP"], head=[2, 0], deprel=["nsubj", "root"])
        >>> pipeline = Pipeline.from_corpus(Config(), [sentence])
        >>> list(pipeline.parts), list(pipeline.measure([sentence]).scores)
        (['tag', 'dependency'], ['accuracy', 'UAS', 'LAS', 'CLAS', 'mean'])
    """

    task: ClassVar[str] = "pipeline"
    outputs: ClassVar[Forms] = {"tags": COLUMN, "relations": COLUMN, "types": TYPES}
    config: Config

    def __init__(self, config: Config, vocabularies: dict[str, Vocabulary], encoder: Encoder) -> None:
        super().__init__(config, vocabularies, encoder)
        self._shared = SharedEncoder(encoder)
        of_words = {name: each for name, each in vocabularies.items() if name not in self.outputs}
        self.parts = nn.ModuleDict()
        for name, component in _chosen(config).items():
            known = of_words | {"labels": vocabularies[component.labels]}
            self.parts[name] = component.model_class(
                component.config(config), known, cast(Encoder, self._shared)
            )
        of_parts = (f"parts.{name}.{network}" for name in self.parts for network in COMPONENTS[name].networks)
        self.networks = ("encoder.forward", *of_parts)

    @classmethod
    @override
    def trainable(cls, config: Config, sentences: Sequence[Sentence]) -> Sequence[Sentence]:
        """Return all sentences, after checking that they are annotated for each component.

        With `partial`, return the sentences with annotation for at least one component; a warning counts the
        others.

        Raises:
            DataError: If a component cannot learn from its annotation of a sentence, as for its own `trainable`.
            SettingError: If the configuration specifies no component.
        """
        annotated = [not config.partial] * len(sentences)
        for component in _chosen(config).values():
            options, views = component.config(config), component.views(sentences)
            if config.partial:
                has_any = [component.model_class.has_annotation(options, view) for view in views]
                annotated = [any(each) for each in zip(annotated, has_any, strict=True)]
                views = [view for view, is_kept in zip(views, has_any, strict=True) if is_kept]
            component.model_class.trainable(options, views)
        return with_annotation(sentences, annotated)

    @classmethod
    @override
    def labels_of(cls, config: Config, sentences: Sequence[Sentence]) -> dict[str, Vocabulary]:
        """Return the vocabularies of tags, relations, and types of entities, of the components in use."""
        return {
            component.labels: component.model_class.labels_of(
                component.config(config), component.views(sentences)
            )["labels"]
            for component in _chosen(config).values()
        }

    @override
    def start_from(self, sentences: Sequence[Sentence]) -> None:
        """Let each component set those initial weights that depend on the training corpus."""
        for name, model in self._models().items():
            model.start_from(COMPONENTS[name].views(sentences))

    @property
    def selection(self) -> str:
        """The score that selects the best epoch: the mean over components of the score that selects theirs."""
        return "mean"

    def targets(self, sentence: Sentence) -> dict[str, Tensor]:
        """Return the targets of each component, under names such as `dependency.heads`, ``(n,)``."""
        return {
            f"{name}.{target}": values
            for name, model in self._models().items()
            for target, values in model.targets(COMPONENTS[name].view(sentence)).items()
        }

    def loss(self, batch: Batch) -> Tensor:
        """Return the sum of the mean losses of the components."""
        batches = self.batches(batch)
        return cast(Tensor, sum(model.loss(batches[name]) for name, model in self._models().items()))

    def predict_batch(self, batch: Batch, probabilities: bool = False) -> list[JointPrediction]:
        """Return the best tags, trees and entities.

        With `probabilities`, words have the notes `p` and `p_label` for arcs, as from `Parser`, and `p_tag` for
        tags. Entities have probabilities in pictures and in spaCy.
        """
        batches, predictions = self.batches(batch), dict[str, Sequence[Prediction]]()
        for name, model in self._models().items():
            predictions[name] = model.predict_batch(batches[name], probabilities)
        if "tag" in predictions:
            predictions["tag"] = [_renamed(cast(WordPrediction, each)) for each in predictions["tag"]]
        return [
            JointPrediction(dict(zip(predictions, parts, strict=True)))
            for parts in zip(*predictions.values(), strict=True)
        ]

    @override
    def entropies(self, batch: Batch) -> Tensor:
        """Return the sum of the entropies of tags, trees and entities, ``(batch,)``.

        Entropies add up because the components are independent, given their scores.
        """
        batches = self.batches(batch)
        return torch.stack([model.entropies(batches[name]) for name, model in self._models().items()]).sum(0)

    def batches(self, batch: Batch) -> dict[str, Batch]:
        """Encode a batch once, for all components.

        Args:
            batch: A batch from `collate`.

        Returns:
            The batch for each component, with word vectors as inputs, by the name of the component.
        """
        inputs = self._shared.encoded(batch.inputs, batch.lengths)
        return {name: _batch_of(batch, name, inputs) for name in self.parts}

    def metric(self) -> JointMetric:
        """Return the metrics of the components, with the mean of their selecting scores."""
        return JointMetric(self._models())

    @override
    def require_annotated(self, sentence: Sentence) -> None:
        """Raise a DataError if a sentence has no annotation for the metric of a component."""
        for name, model in self._models().items():
            model.require_annotated(COMPONENTS[name].view(sentence))

    def observed(self, sentence: Sentence) -> dict[str, Any]:
        """Return the annotation that the metric of each component compares, by the name of the component."""
        return {
            name: model.observed(COMPONENTS[name].view(sentence)) for name, model in self._models().items()
        }

    @override
    def require_usable(self, sentence: Sentence) -> None:
        """Raise a DataError if the format of a sentence has no place for trees or entities."""
        for name, model in self._models().items():
            model.require_usable(COMPONENTS[name].view(sentence))

    @override
    def calibrate(self, sentences: Sequence[Sentence]) -> None:
        """Let each component count statistics that are not learned by gradients."""
        for name, model in self._models().items():
            model.calibrate(COMPONENTS[name].views(sentences))

    def _models(self) -> dict[str, StructurePredictor]:
        return {name: cast(StructurePredictor, model) for name, model in self.parts.items()}


def _chosen(config: Config) -> dict[str, Component]:
    """Return the components that a configuration specifies, by name.

    Raises:
        SettingError: If it specifies none.
    """
    chosen = {
        name: component for name, component in COMPONENTS.items() if component.options(config) is not None
    }
    if not chosen:
        raise SettingError("tags, trees and entities are all none; expected one or more to predict")
    return chosen


def _batch_of(batch: Batch, name: str, inputs: dict[str, Tensor]) -> Batch:
    """Return the batch for a component: its views and targets, with vectors of words as inputs."""
    start = f"{name}."
    targets = {key.removeprefix(start): each for key, each in batch.targets.items() if key.startswith(start)}
    return Batch(COMPONENTS[name].views(batch.sentences), batch.lengths, inputs, targets)


def _renamed(prediction: WordPrediction) -> WordPrediction:
    """Append `_tag` to the names of the notes of tags, so that they differ from those of arcs."""
    return replace(prediction, notes={f"{name}_tag": notes for name, notes in prediction.notes.items()})
