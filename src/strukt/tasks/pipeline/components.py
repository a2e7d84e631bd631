"""The components of a pipeline: single-task models that share an encoder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from strukt.data.conllu import entity_notes
from strukt.data.sentence import Sentence
from strukt.tasks import dependency, ner, tag
from strukt.tasks.common.config import TaskConfig
from strukt.tasks.common.encoder.base import Encoder
from strukt.tasks.common.structure_predictor import StructurePredictor
from strukt.tasks.dependency.model import Parser
from strukt.tasks.ner.model import EntityModel
from strukt.tasks.pipeline.config import Config
from strukt.tasks.tag.model import Tagger

VECTORS = "vectors"
"""Name of the input that components read: the vectors of words."""


@dataclass(frozen=True)
class Component:
    """The definition of a component.

    Attributes:
        model_class: The class of the component's model.
        networks: Names of the model's methods with weights outside the encoder; see `Model.networks`.
        labels: Name of the component's vocabulary of labels in the pipeline.
        options: Converts options of the pipeline into options of the component; returns None if the component is
            left out.
        view: Converts a sentence of the pipeline into one that the component reads.
    """

    model_class: type[StructurePredictor]
    networks: tuple[str, ...]
    labels: str
    options: Callable[[Config], TaskConfig | None]
    view: Callable[[Sentence], Sentence]

    def views(self, sentences: Iterable[Sentence]) -> list[Sentence]:
        """Convert sentences of the pipeline into sentences that the component reads."""
        return [self.view(sentence) for sentence in sentences]

    def config(self, config: Config) -> Any:
        """Return the configuration of the component; None if it is left out."""
        options = self.options(config)
        if options is not None:
            for name in ("train", "dev", "partial", "encoder", "optimizer", "trainer"):
                setattr(options, name, getattr(config, name))
        return options


def _tag_options(config: Config) -> tag.Config | None:
    return None if config.tags == "none" else tag.Config(column=config.tags)


def _dependency_options(config: Config) -> dependency.Config | None:
    if config.trees == "none":
        return None
    return dependency.Config(trees=config.trees, arc_size=config.arc_size, label_size=config.label_size)


def _entity_options(config: Config) -> ner.Config | None:
    if config.entities == "none":
        return None
    if config.entities == "flat":
        return ner.Config(criterion="flat")
    return ner.Config(label_size=config.label_size)


def _without_entities(sentence: Sentence) -> Sentence:
    return sentence.plain if isinstance(sentence, entity_notes.Sentence) else sentence


COMPONENTS: Mapping[str, Component] = {
    "tag": Component(Tagger, Tagger.networks, "tags", _tag_options, _without_entities),
    "dependency": Component(Parser, Parser.networks, "relations", _dependency_options, _without_entities),
    "ner": Component(EntityModel, ("layer.scores",), "types", _entity_options, lambda sentence: sentence),
}
"""All components that a pipeline may have, by the names of their tasks."""


class SharedEncoder:
    """An encoder that several models share: its weights belong to the pipeline, not to these models.

    Args:
        encoder: The encoder to share.
    """

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def __getattr__(self, name: str) -> Any:
        if name == "_encoder":  # a copy without attributes, as in unpickling
            raise AttributeError(name)
        return getattr(self._encoder, name)

    def inputs(self, sentences: list[list[str]]) -> dict[str, Tensor]:
        """Return the vectors of words of sentences, as inputs of a component's model."""
        device = next(self._encoder.parameters()).device
        inputs = {name: values.to(device) for name, values in self._encoder.inputs(sentences).items()}
        lengths = torch.tensor([len(forms) for forms in sentences], dtype=torch.long, device=device)
        return self.encoded(inputs, lengths)

    def encoded(self, inputs: dict[str, Tensor], lengths: Tensor) -> dict[str, Tensor]:
        """Encode a batch, and return the vectors of words as inputs of all models."""
        return {VECTORS: self._encoder(inputs, lengths)}

    def __call__(self, inputs: dict[str, Tensor], lengths: Tensor) -> Tensor:  # noqa: ARG002
        """Return the vectors among the inputs, ``(batch, n, size)``, which are already encoded."""
        return inputs[VECTORS]
