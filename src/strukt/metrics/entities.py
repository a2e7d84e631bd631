"""Precision, recall and F1 of nested named entities (NER), by type and by depth of nesting."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from strukt.data.entities import Entity, depths, ordered
from strukt.metrics.counts import percent


class EntityF1:
    """F1 of nested named entities (NER): counts entities with the right span and type.

    The depth of a gold entity is the number of other gold entities that contain it; the depth of a predicted
    entity is the number of other predicted entities that contain it (`strukt.data.entities.depths`). A correct
    entity may thus have two depths: for recall it counts at its gold depth, for precision at its predicted depth.
    An entity is nested if its depth is at least 1. Duplicates count once.

    Examples:
        >>> from strukt.data.entities import Entity
        >>> score = EntityF1()
        >>> gold = [Entity(0, 3, "person"), Entity(2, 3, "place")]
        >>> score.update(gold, predicted=[Entity(2, 3, "place")])
        >>> {name: round(value, 1) for name, value in score.result().items()}
        {'precision': 100.0, 'recall': 50.0, 'f1': 66.7, 'nested_f1': 0.0}
        >>> score.details()["depth"]["1"]
        {'precision': 0.0, 'recall': 100.0, 'f1': 0.0, 'gold': 1}
    """

    def __init__(self) -> None:
        # Numbers of gold, predicted and correct entities by type and depth.
        self.gold: Counter[tuple[str, int]] = Counter()
        self.predicted: Counter[tuple[str, int]] = Counter()
        self.right_by_gold_depth: Counter[tuple[str, int]] = Counter()
        self.right_by_predicted_depth: Counter[tuple[str, int]] = Counter()

    def update(self, gold: Iterable[Entity], predicted: Iterable[Entity]) -> None:
        """Add the entities of one sentence.

        Args:
            gold: The right entities, in any order.
            predicted: The predicted entities, in any order.

        Complexity: O(m log m) comparisons for m entities.
        """
        gold_depths, predicted_depths = _depth_of_each(gold), _depth_of_each(predicted)
        right = gold_depths.keys() & predicted_depths.keys()
        self.gold.update((entity.label, depth) for entity, depth in gold_depths.items())
        self.predicted.update((entity.label, depth) for entity, depth in predicted_depths.items())
        self.right_by_gold_depth.update((entity.label, gold_depths[entity]) for entity in right)
        self.right_by_predicted_depth.update((entity.label, predicted_depths[entity]) for entity in right)

    def result(self) -> dict[str, float]:
        """Return `precision`, `recall`, `f1` and `nested_f1` (of nested entities) in per cent.

        A score with a denominator of 0 is 0.
        """
        kinds = self._kinds()
        whole, nested = self._scores(kinds), self._scores(kind for kind in kinds if kind[1])
        return {name: whole[name] for name in ("precision", "recall", "f1")} | {"nested_f1": nested["f1"]}

    def details(self) -> dict[str, dict[str, dict[str, float]]]:
        """Return scores and gold counts under `type` (labels in alphabetical order) and `depth` (as strings)."""
        by_type: dict[str, list[tuple[str, int]]] = defaultdict(list)
        by_depth: dict[int, list[tuple[str, int]]] = defaultdict(list)
        for label, depth in self._kinds():
            by_type[label].append((label, depth))
            by_depth[depth].append((label, depth))
        return {
            "type": {label: self._scores(by_type[label]) for label in sorted(by_type)},
            "depth": {str(depth): self._scores(by_depth[depth]) for depth in sorted(by_depth)},
        }

    def _kinds(self) -> set[tuple[str, int]]:
        """Return all pairs of type and depth that occur."""
        return self.gold.keys() | self.predicted.keys()

    def _scores(self, kinds: Iterable[tuple[str, int]]) -> dict[str, float]:
        """Return the scores of the entities with these types and depths."""
        chosen = list(kinds)

        def total(counter: Counter[tuple[str, int]]) -> int:
            return sum(counter[kind] for kind in chosen)

        gold, predicted = total(self.gold), total(self.predicted)
        precision = percent(total(self.right_by_predicted_depth), predicted)
        recall = percent(total(self.right_by_gold_depth), gold)
        f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
        return {"precision": precision, "recall": recall, "f1": f1, "gold": gold}


def _depth_of_each(entities: Iterable[Entity]) -> dict[Entity, int]:
    """Return the depth of nesting of each distinct entity."""
    distinct = ordered(entities)
    return dict(zip(distinct, depths(distinct), strict=True))
