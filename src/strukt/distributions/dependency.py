"""Dependency trees: one head for each word, 0 for the root, and with labels one label for each arc."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any, ClassVar

from torch import Tensor
from typing_extensions import Self

from strukt.distributions import bounds
from strukt.distributions.arcs import ArcStructure, has_labels
from strukt.distributions.explanations import dependency, wording
from strukt.kernels import arguments, eisner, events, labelled_eisner, matrix_tree
from strukt.kernels.labelled_arcs import LabelledOracles
from strukt.kernels.lengths import Lengths, as_tensor
from strukt.kernels.oracles import Oracles


class _DependencyTree(ArcStructure, abc.ABC):
    """What projective and non-projective trees share: arguments, and the check that heads are a tree."""

    score_names: ClassVar[tuple[str, ...]] = ("arcs",)
    labelled_oracles: ClassVar[Any]

    def __init__(
        self,
        arcs: Tensor,
        lengths: Lengths | None = None,
        single_root: bool = True,
        labelled: bool | None = None,
        validate_args: bool | None = None,
    ) -> None:
        arguments.scores("arcs", arcs, "batch + (n, n + 1) or batch + (n, n + 1, c)", 2)
        given: Tensor | None = as_tensor(lengths, arcs.device, "lengths")
        labelled = has_labels(arcs, given) if labelled is None else labelled
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
        self.single_root = single_root
        super().__init__(arcs, given, (single_root,), labelled, validate_args)

    def _rebuilt(self, scores: tuple[Tensor, ...], lengths: Tensor, constants: tuple[Tensor, ...]) -> Self:  # noqa: ARG002
        return type(self)(scores[0], lengths, self.single_root, self.labelled, validate_args=False)

    def _without_labels(self, arcs: Tensor) -> Self:
        return type(self)(arcs, self.lengths, self.single_root, labelled=False, validate_args=False)

    def _require_same_kind(self, other: Any) -> None:
        if isinstance(other, _DependencyTree) and other.labelled != self.labelled:
            raise NotImplementedError(f"of {self} and {other} only one has labels on its arcs")
        super()._require_same_kind(other)

    def is_structure(self, event: Tensor) -> Tensor:
        options = (self.single_root, isinstance(self, ProjectiveTree))
        trees: Tensor = self._ask(events.are_dependency_trees, self._heads(event), *options, axes=1)
        return trees & self._in_range(event) if self.labelled else trees

    def _fault(self, event: Any, length: int, constants: Sequence[Any]) -> str | None:  # noqa: ARG002
        projective = isinstance(self, ProjectiveTree)
        if not self.labelled:
            return dependency.tree(event, length, self.single_root, projective)
        heads, labels = zip(*event, strict=True) if event else ((), ())
        fault = dependency.tree(heads, length, self.single_root, projective)
        return fault or wording.out_of_range(labels, length, self.scores[0].shape[-1], "label", "position")


class NonProjectiveTree(_DependencyTree):
    """All dependency trees: log-partition by the Matrix-Tree theorem, mode by Chu-Liu/Edmonds.

    Args:
        arcs: ``batch + (n, n + 1)``, or with labels ``batch + (n, n + 1, c)``; ``[m, h]`` scores head h for word
            m + 1, and h = 0 is the root, so that a row of heads is a HEAD column of CoNLL-U. A word as its own
            head is ignored.
        lengths: ``batch``; all n if None.
        single_root: Whether exactly one word hangs on the root, or any number from one on.
        labelled: Whether the last axis of ``arcs`` are labels. If None, the shapes tell. A shape that ends in
            (n, n + 1, n + 2) could be either; without lengths it is read as unlabelled, with a warning.
        validate_args: Whether to check values as well as shapes.

    Events are heads ``batch + (n,)``, or with labels the head and the label of each word, ``batch + (n, 2)``: the
    columns HEAD and DEPREL. `log_partition` and `marginals` take O(n^3) time an item, `mode` O(n^2) and
    `topk` O(k n^2); a sample takes the cover time of the word graph, at most O(n^4). Labels add O(n^2 c), and to
    `topk` O(n k^2 log k).

    Raises:
        ValueError: If shapes, types or values do not fit.

    Examples:
        >>> import torch
        >>> trees = NonProjectiveTree(torch.zeros(4, 5))
        >>> trees.log_count.exp().round()
        tensor(64.)
        >>> NonProjectiveTree(torch.zeros(4, 5), single_root=False).log_count.exp().round()
        tensor(125.)
        >>> arcs = torch.tensor([[2.0, -9.0, 1.0], [1.9, 1.0, -9.0]])
        >>> NonProjectiveTree(arcs).mode
        tensor([0, 1])
        >>> labelled = torch.stack([arcs, arcs - 1.0, arcs + 0.5], -1)
        >>> NonProjectiveTree(labelled, labelled=True).mode
        tensor([[0, 2],
                [1, 2]])
    """

    oracles: ClassVar[Oracles] = matrix_tree.ORACLES
    labelled_oracles: ClassVar[LabelledOracles] = matrix_tree.LABELLED


class ProjectiveTree(_DependencyTree):
    """Dependency trees without crossing arcs (Eisner 1996).

    Args:
        arcs: ``batch + (n, n + 1)``, or with labels ``batch + (n, n + 1, c)``; ``[m, h]`` scores head h for word
            m + 1, and h = 0 is the root, so that a row of heads is a HEAD column of CoNLL-U. A word as its own
            head is ignored.
        lengths: ``batch``; all n if None.
        single_root: Whether exactly one word hangs on the root, or any number from one on.
        labelled: Whether the last axis of ``arcs`` are labels. If None, the shapes tell. A shape that ends in
            (n, n + 1, n + 2) could be either; without lengths it is read as unlabelled, with a warning.
        validate_args: Whether to check values as well as shapes.

    Events are heads ``batch + (n,)``, or with labels the head and the label of each word, ``batch + (n, 2)``: the
    columns HEAD and DEPREL. All operators take O(n^3) time an item (`sample`, and `topk`
    on CPUs, O(n^2) more a tree; `topk` k^2 times that in the reference); `log_partition` keeps O(n^2) memory
    for its gradient. Labels add O(n^2 c), and to `topk` O(n k^2 log k).

    Raises:
        ValueError: If shapes, types or values do not fit.

    Examples:
        >>> import torch
        >>> trees = ProjectiveTree(torch.zeros(4, 5))
        >>> trees.log_count.exp().round()
        tensor(30.)
        >>> trees.marginals[0]
        tensor([0.4000, 0.0000, 0.2333, 0.1333, 0.2333])
    """

    oracles: ClassVar[Oracles] = eisner.ORACLES
    labelled_oracles: ClassVar[Any] = labelled_eisner.ORACLES

    @property
    def max_marginals(self) -> Tensor:
        found = bounds.max_marginals(self)
        return super().max_marginals if found is None else found  # for each arc the best tree that requires it
