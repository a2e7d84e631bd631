"""Pictures of models themselves, not of their predictions."""

from __future__ import annotations

from collections.abc import Mapping

from strukt.data.sentence import Sentence
from strukt.viz import Diagram, Graph, HeatMap, Lattice
from strukt.viz.pictures.interactions import Spanning
from strukt.viz.svg import Picture


class ModelPictures:
    """Pictures of a model; subclasses override the methods for pictures that they support."""

    def channels(self, sentence: Sentence) -> list[Diagram]:  # noqa: ARG002
        """Draw the heads of words in each channel of a Probabilistic Transformer; none for other encoders."""
        return []

    def lattice(self, sentence: Sentence) -> Lattice | None:  # noqa: ARG002
        """Draw the probabilities of tags and of transitions; return None if the model is not a chain."""
        return None

    def code_distances(self) -> HeatMap | None:
        """Draw the distances between the codes of labels; return None if the model predicts no codes."""
        return None

    def state_graph(self) -> Graph | None:
        """Draw the transitions between the most frequent hidden states; return None if the model has none."""
        return None

    def step_pictures(
        self,
        sentence: Sentence,  # noqa: ARG002
        step: int,  # noqa: ARG002
        spanning: Spanning = "minimum",  # noqa: ARG002
    ) -> Mapping[str, Picture]:
        """Draw the attention at a step of the output; return pictures by the names that `strukt show` uses.

        Args:
            sentence: The sentence; its annotation is ignored.
            step: Number of the step, from 1.
            spanning: The spanning tree of interactions to draw; see `attention_pictures.interaction_tree`.

        Raises:
            SettingError: If the output has no such step.
        """
        return {}
