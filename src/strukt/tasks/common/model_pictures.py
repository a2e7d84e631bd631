"""Pictures that some models have beside those of their predictions."""

from __future__ import annotations

from collections.abc import Mapping

from strukt.data.sentence import Sentence
from strukt.viz import Diagram, Graph, HeatMap, Lattice
from strukt.viz.pictures.interactions import Spanning
from strukt.viz.svg import Picture


class ModelPictures:
    """Pictures of the inside of a model: none, but where a class gives some."""

    def channels(self, sentence: Sentence) -> list[Diagram]:  # noqa: ARG002
        """Draw the most probable head of each word in each channel, if the model has some."""
        return []

    def lattice(self, sentence: Sentence) -> Lattice | None:  # noqa: ARG002
        """Draw the probabilities of tags and of steps between them, if the model is a chain."""
        return None

    def code_distances(self) -> HeatMap | None:
        """Draw the distances between the codes of labels, if the model predicts codes."""
        return None

    def state_graph(self) -> Graph | None:
        """Draw the transitions between the most frequent hidden states, if the model has some."""
        return None

    def step_pictures(
        self,
        sentence: Sentence,  # noqa: ARG002
        step: int,  # noqa: ARG002
        spanning: Spanning = "minimum",  # noqa: ARG002
    ) -> Mapping[str, Picture]:
        """Draw what led to one step of the output, by the names that `strukt show` has; none by default.

        Args:
            sentence: What it is annotated with is not read.
            step: Counted from 1.
            spanning: Which spanning tree of interactions.

        Raises:
            SettingError: The output has no such step.
        """
        return {}
