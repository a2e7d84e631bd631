"""Undirected spanning trees over all vertices of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from torch import Tensor

from strukt.checks import arguments
from strukt.checks.lengths import Lengths
from strukt.kernels.engine.oracles import TableOracles
from strukt.kernels.places import Places
from strukt.structures import events
from strukt.structures.explanations import sets
from strukt.structures.indicator import AbsenceStructure
from strukt.structures.spanning_tree.arcs import pairs
from strukt.structures.spanning_tree.prim import max_marginals
from strukt.structures.spanning_tree.reference import REFERENCE


class SpanningTree(AbsenceStructure):
    """Undirected trees that connect n vertices, scored by their edges.

    Args:
        edges: ``batch + (n, n)``; ``[i, j]`` with i < j scores the edge between vertices i and j. Other entries
            have no effect, as in the masks of `condition`, but must not be NaN or +inf.
        lengths: ``batch``, the number of vertices; all n if None.
        validate_args: Whether to check values as well as shapes; if None, see `strukt.set_default_validate_args`.

    `StructuredDistribution` has the operators, and the rules for -inf, NaN and padding.

    Events are ``batch + (n, n)``: for i < j 1 if the tree has the edge and 0 if not; -1 elsewhere and in the
    padding. The sum over trees is Kirchhoff's determinant (1847), computed here without subtraction.
    `log_partition` and `marginals` take O(n^3) time per item, `mode` and `max_marginals` O(n^2), and ``topk(k)``
    O(k n^3 + k^2); under ``torch.func`` and ``torch.compile``, `max_marginals` takes n^2 times as long as `mode`.
    `sample` takes O(n^3) per item, and for each sample random walks of up to 32 n steps in all, or O(n^3) time if
    it needs more steps (in the PyTorch reference, which also handles required edges, O(n^4) per sample).

    Raises:
        ValueError: If shapes, types or values do not fit.

    Examples:
        >>> import torch
        >>> trees = SpanningTree(torch.zeros(4, 4))
        >>> trees.log_count.exp().round()
        tensor(16.)
        >>> trees.marginals[0]
        tensor([0.0000, 0.5000, 0.5000, 0.5000])
        >>> SpanningTree(torch.tensor([[0.0, 3.0, 2.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])).mode
        tensor([[-1,  1,  1],
                [-1, -1,  0],
                [-1, -1, -1]])
    """

    oracles = TableOracles(__package__, scores=("edges", "absent"), options=(), reference=REFERENCE, event_dim=2)
    _best_with_each_part = staticmethod(max_marginals)
    _best_by_numpy = True
    score_names: ClassVar[tuple[str, ...]] = ("edges", "absent")
    extents = ([0, 0], [0, 0])

    def __init__(
        self, edges: Tensor, lengths: Lengths | None = None, validate_args: bool | None = None
    ) -> None:
        arguments.scores("edges", edges, "batch + (n, n)", 2)
        if edges.shape[-2] != edges.shape[-1]:
            raise ValueError(
                f"edges has shape {tuple(edges.shape)}; expected batch + (n, n), "
                "a row and a column for each vertex"
            )
        super().__init__((edges,), lengths, validate_args)

    def _distinguishing_parts(self, used: Tensor) -> Tensor:
        return used  # no tree contains all edges of another

    def _are_structures(self, event: Tensor) -> Tensor:
        return self._apply(events.are_spanning_trees, event, axes=2)  # type: ignore[no-any-return]

    def _fault(self, event: Any, length: int, constants: Sequence[Any]) -> str | None:
        return sets.spanning_tree(event, length)

    @property
    def _within(self) -> Tensor:
        return pairs(self.lengths, self.event_shape[0])

    def _places(self, event: Tensor) -> Places:
        return self._apply(events.edge_places, event, axes=2)  # type: ignore[no-any-return]
