"""Dependency trees: one head for each word, 0 for the root, and optionally a label for each arc."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any, ClassVar

from torch import Tensor
from typing_extensions import Self

from strukt.checks import arguments
from strukt.checks.lengths import Lengths, as_tensor
from strukt.structures import events
from strukt.structures.arcs import ArcStructure, has_labels
from strukt.structures.explanations import dependency, wording


class DependencyTree(ArcStructure, abc.ABC):
    """The base class of projective and non-projective trees: it checks arguments, and that heads form a tree."""

    score_names: ClassVar[tuple[str, ...]] = ("arcs",)
    labelled_oracles: ClassVar[Any]
    """The oracles of trees with labels, which replace ``oracles`` if arcs have labels."""
    _projective: ClassVar[bool] = False
    """True if arcs may not cross."""

    def __init__(
        self,
        arcs: Tensor,
        lengths: Lengths | None = None,
        single_root: bool = True,
        labelled: bool | None = None,
        validate_args: bool | None = None,
    ) -> None:
        arguments.scores("arcs", arcs, "batch + (n, n + 1) or batch + (n, n + 1, c)", 2)
        lengths_tensor: Tensor | None = as_tensor(lengths, "lengths")
        if labelled is None:
            labelled = has_labels(arcs, lengths_tensor)
        labelled = arguments.boolean("labelled", labelled)
        shape = arcs.shape[:-1] if labelled else arcs.shape
        if len(shape) < 2 or shape[-1] != shape[-2] + 1:
            raise ValueError(
                f"arcs has shape {tuple(arcs.shape)}; expected batch + (n, n + 1), a row for each word, and in it "
                "the score of the root as head (column 0), then of each word; or with labels batch + (n, n + 1, c)"
            )
        if labelled and not arcs.shape[-1]:
            raise ValueError(f"arcs has shape {tuple(arcs.shape)}: no labels to choose from; expected c >= 1")
        if labelled:
            self.oracles = self.labelled_oracles  # type: ignore[misc]
        self.single_root = arguments.boolean("single_root", single_root)
        super().__init__(arcs, lengths_tensor, (self.single_root,), labelled, validate_args)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the oracles, which consist of functions that cannot be pickled."""
        return {name: value for name, value in self.__dict__.items() if name != "oracles"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the state, and choose the oracles again."""
        self.__dict__.update(state)
        if self.labelled:
            self.oracles = self.labelled_oracles  # type: ignore[misc]

    def _rebuilt(self, scores: tuple[Tensor, ...], lengths: Tensor, constants: tuple[Tensor, ...]) -> Self:  # noqa: ARG002
        return type(self)(scores[0], lengths, self.single_root, self.labelled, validate_args=False)

    def _without_labels(self, arcs: Tensor) -> Self:
        return type(self)(arcs, self.lengths, self.single_root, labelled=False, validate_args=False)

    def _require_same_kind(self, other: Any) -> None:
        if isinstance(other, DependencyTree) and other.labelled != self.labelled:
            raise NotImplementedError(f"of {self} and {other} only one has labels on its arcs")
        if type(other) is type(self) and other.single_root != self.single_root:
            raise NotImplementedError(
                f"single_root is {other.single_root} in other and {self.single_root} in this distribution: "
                "distributions over different sets of trees are not compared"
            )
        super()._require_same_kind(other)

    def _are_structures(self, event: Tensor) -> Tensor:
        options = (self.single_root, self._projective)
        trees: Tensor = self._apply(events.are_dependency_trees, self._heads(event), *options, axes=1)
        return trees & self._in_range(event) if self.labelled else trees

    def _fault(self, event: Any, length: int, constants: Sequence[Any]) -> str | None:  # noqa: ARG002
        if not self.labelled:
            return dependency.tree(event, length, self.single_root, self._projective)
        heads, labels = zip(*event, strict=True) if event else ((), ())
        fault = dependency.tree(heads, length, self.single_root, self._projective)
        return fault or wording.out_of_range(labels, length, self.scores[0].shape[-1], "label", "position")
