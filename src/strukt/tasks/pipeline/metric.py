"""The metrics of all components of a pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from strukt.tasks.common.sentence_model import Metric, SentenceModel


class JointMetric:
    """The metrics of several models, and the mean of the scores that select their best epochs.

    Args:
        parts: The models by name.
    """

    def __init__(self, parts: Mapping[str, SentenceModel]) -> None:
        self._parts = parts
        self._metrics: dict[str, Metric] = {name: part.metric() for name, part in parts.items()}

    def update(self, gold: Mapping[str, Any], predicted: Mapping[str, Any]) -> None:
        """Add the counts of a sentence's gold and predicted annotation, by the names of the models."""
        for name, metric in self._metrics.items():
            metric.update(gold[name], predicted[name])

    def result(self) -> dict[str, float]:
        """Return the scores of all models, and the `mean`."""
        results = {name: metric.result() for name, metric in self._metrics.items()}
        chosen = [self._parts[name].quality(scores) for name, scores in results.items()]
        scores = {name: value for part in results.values() for name, value in part.items()}
        return scores | {"mean": sum(chosen) / len(chosen)}

    def details(self) -> dict[str, dict[str, dict[str, float]]]:
        """Return the tables of all models by name; no two models have a table of the same name."""
        return {name: table for metric in self._metrics.values() for name, table in metric.details().items()}
