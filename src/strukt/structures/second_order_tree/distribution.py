"""Second-order projective dependency trees, with scores of neighbouring siblings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from strukt.checks import arguments
from strukt.checks.lengths import Lengths
from strukt.kernels.engine.oracles import TableOracles
from strukt.kernels.engine.reference import TableProgram
from strukt.kernels.places import Places
from strukt.structures import events
from strukt.structures.explanations import dependency
from strukt.structures.positional import PositionalStructure
from strukt.structures.second_order_tree import second_order_eisner


class SecondOrderTree(PositionalStructure):
    """Projective dependency trees, scored by arcs and by neighbouring dependents (McDonald and Pereira 2006).

    Args:
        arcs: ``batch + (n, n + 1)``; ``[m, h]`` scores head h for word m + 1, and h = 0 is the root.
        siblings: ``batch + (n, n, n + 1)``, or ``(n, n, n + 1)`` for all items; ``[m, k, h]`` scores the words
            m + 1 and k + 1 as neighbouring dependents of h on one side of it, k + 1 nearer to it. All other
            entries have no effect, but must not be NaN or +inf.
        lengths: ``batch``; all n if None.
        single_root: Whether exactly one word depends on the root, instead of one or more.
        validate_args: Whether to check values as well as shapes; if None, see `strukt.set_default_validate_args`.

    `StructuredDistribution` has the operators, and the rules for -inf, NaN and padding.

    Events are heads ``batch + (n,)``, -1 in the padding. Sums and maxima take O(n^3) time per item. The parts of a
    tree are its arcs: `marginals` are of arcs, `sibling_marginals` of pairs.

    Raises:
        ValueError: If shapes, types or values do not fit.

    Examples:
        >>> siblings = torch.zeros(3, 3, 4)
        >>> siblings[2, 1, 1] = 5.0  # word 3 after word 2, both below word 1
        >>> trees = SecondOrderTree(torch.zeros(3, 4), siblings)
        >>> trees.mode
        tensor([0, 1, 1])
        >>> trees.log_count.exp().round(), trees.sibling_marginals[2, 1, 1]
        (tensor(7.), tensor(0.9611))
    """

    oracles = TableOracles(
        __package__,
        scores=("arcs", "siblings"),
        options=("single_root",),
        reference=TableProgram(second_order_eisner.build, axes=(2, 3)),
    )
    score_names: ClassVar[tuple[str, ...]] = ("arcs", "siblings")
    extents = ([0, 1], [0, 0, 1])

    def __init__(
        self,
        arcs: Tensor,
        siblings: Tensor,
        lengths: Lengths | None = None,
        single_root: bool = True,
        validate_args: bool | None = None,
    ) -> None:
        arguments.scores("arcs", arcs, "batch + (n, n + 1)", 2)
        n = arcs.shape[-2]
        if arcs.shape[-1] != n + 1:
            raise ValueError(
                f"arcs has shape {tuple(arcs.shape)}; expected batch + (n, n + 1), a row for each word, and in it "
                "the score of the root as head (column 0), then of each word"
            )
        siblings = arguments.batched("siblings", siblings, arcs.shape[:-2], (n, n, n + 1))
        self.single_root = arguments.boolean("single_root", single_root)
        super().__init__((arcs, siblings), lengths, (self.single_root,), validate_args)

    @property
    def sibling_marginals(self) -> Tensor:
        """The probability of each pair of neighbouring siblings: ``batch + (n, n, n + 1)``; differentiable.

        The indices are those of ``siblings``.
        """
        return self._marginals_beside(*self.scores[1].shape[-3:])

    def _are_structures(self, event: Tensor) -> Tensor:
        return self._apply(events.are_dependency_trees, event, self.single_root, True, axes=1)  # type: ignore[no-any-return]

    def _fault(self, event: Any, length: int, constants: Sequence[Any]) -> str | None:
        return dependency.tree(event, length, self.single_root, projective=True)

    def _places(self, event: Tensor) -> Places:
        return (*super()._places(event), self._apply(_sibling_places, event, axes=1))


def _sibling_places(heads: Tensor, lengths: Tensor) -> Tensor:
    """Return the place, in the scores of siblings, of each word and its next sibling towards their head.

    ``heads`` and the result are ``(rows, n)``; -1 for words without such a sibling. Time and memory O(n^2) per
    row.
    """
    n = heads.shape[-1]
    word = torch.arange(1, n + 1, device=heads.device)
    head, m, k = heads.unsqueeze(-1), word.unsqueeze(-1), word
    between = ((head < k) & (k < m)) | ((m < k) & (k < head))
    siblings = between & (heads.unsqueeze(-2) == head) & events.within(lengths, n).unsqueeze(-2)
    # Of the siblings between head and word, the nearest to the word is the farthest from the head.
    order = torch.where(m > head, k, n + 1 - k)
    nearest = torch.where(siblings, order, 0).amax(-1) if n else heads
    result = torch.where(word > heads, nearest, n + 1 - nearest)
    places = ((word - 1) * n + result - 1) * (n + 1) + heads
    return torch.where((nearest > 0) & events.within(lengths, n), places, -1)
