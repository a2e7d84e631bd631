"""The linear-chain conditional random field (CRF): sequences of tags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from torch import Tensor

from strukt.checks import arguments
from strukt.checks.guards import UNBOUNDED
from strukt.checks.lengths import Lengths
from strukt.kernels.engine.oracles import TableOracles
from strukt.kernels.places import Places
from strukt.structures import events
from strukt.structures.explanations import sequences, wording
from strukt.structures.linear_chain.reference import REFERENCE, max_marginals
from strukt.structures.positional import PositionalStructure


class LinearChain(PositionalStructure):
    """Tag sequences scored by each tag and by each pair of neighbours (Lafferty et al. 2001).

    Args:
        unary: ``batch + (n, c)``, the score of each of c tags at each of n positions.
        transition: ``[i, j]`` scores tag i followed by tag j. Shared ``(c, c)``, one for each item
            ``batch + (c, c)``, or one for each step ``batch + (n - 1, c, c)``.
        lengths: ``batch``; all n if None.
        validate_args: Whether to check values as well as shapes; if None, see `strukt.set_default_validate_args`.

    `StructuredDistribution` has the operators, and the rules for -inf, NaN and padding.

    Events are tags ``batch + (n,)``, -1 in the padding. Sums and maxima take O(n c^2) time per item; ``topk(k)``
    also compares O(k n c) sequences, each of which leaves a better one at one word (the PyTorch reference takes
    k^2 times as long as for the mode); `sample` adds O(n c) per sample. `log_partition` stores O(n c) numbers for
    its gradient.

    Raises:
        ValueError: If shapes, types or values do not fit.

    Examples:
        >>> import torch
        >>> unary = torch.tensor([[1.0, 0.0], [0.0, 0.5], [0.0, 0.0]])
        >>> chain = LinearChain(unary, torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
        >>> chain.mode
        tensor([0, 1, 0])
        >>> chain.log_prob(chain.mode).exp()
        tensor(0.4622)
        >>> chain.marginals
        tensor([[0.7734, 0.2266],
                [0.2822, 0.7178],
                [0.6007, 0.3993]])
    """

    oracles = TableOracles(__package__, scores=("unary", "transition"), options=(), reference=REFERENCE)
    _best_with_each_part = staticmethod(max_marginals)
    score_names: ClassVar[tuple[str, ...]] = ("unary", "transition")

    def __init__(
        self,
        unary: Tensor,
        transition: Tensor,
        lengths: Lengths | None = None,
        validate_args: bool | None = None,
    ) -> None:
        arguments.scores("unary", unary, "batch + (n, c)", 2)
        arguments.not_lengths("transition", transition, "unary", "LinearChain", "(c, c)")
        arguments.scores("transition", transition, "(c, c), batch + (c, c) or batch + (n - 1, c, c)", 2)
        if not unary.shape[-1]:
            raise ValueError(f"unary has shape {tuple(unary.shape)}: no tags to choose from; expected c >= 1")
        transition = _fitting(unary, transition)
        steps = -1 if transition.shape[-3] == unary.shape[-2] - 1 else UNBOUNDED
        self.extents = ([0, UNBOUNDED], [steps, UNBOUNDED, UNBOUNDED])
        super().__init__((unary, transition), lengths, (), validate_args)

    @property
    def transition_marginals(self) -> Tensor:
        """The probability of tag i at position t and tag j at t + 1, as ``[t, i, j]``; differentiable.

        The shape is ``batch + (n - 1, c, c)``.
        """
        n, c = self.scores[0].shape[-2:]
        return self._marginals_beside(max(n - 1, 0), c, c)

    def _places(self, event: Tensor) -> Places:
        c, per_step = self.scores[0].shape[-1], self.scores[1].shape[-3] > 1
        return self._apply(events.tag_places, event, c, per_step, axes=1)  # type: ignore[no-any-return]

    def _are_structures(self, event: Tensor) -> Tensor:
        return self._in_range(event)

    def _fault(self, event: Any, length: int, constants: Sequence[Any]) -> str | None:
        return wording.out_of_range(event, length, self.scores[0].shape[-1], "tag", "position")

    def _forbidden(self, event: Tensor) -> str | None:
        unary, transition = self.scores
        return sequences.forbidden_tags(event[0].tolist(), int(self.lengths), unary[0], transition[0])


def _fitting(unary: Tensor, transition: Tensor) -> Tensor:
    """Return the transition scores with all batch axes (of size 1 if shared) and a step axis: ``(..., s, c, c)``.

    There are s = n - 1 steps, or s = 1 if all steps share a matrix.

    Raises:
        ValueError: If they have none of the three shapes that fit the unary scores.
    """
    *batch, n, c = unary.shape
    shape = transition.shape
    if transition.dim() == 2:
        transition = transition.view(*(1,) * (len(batch) + 1), *shape)
    elif transition.dim() == unary.dim():
        transition = transition.unsqueeze(-3)
    if transition.dim() == unary.dim() + 1:
        steps = transition.shape[-3]
        batched = transition.shape[:-3]
        fits = steps in (1, max(n - 1, 0)) and transition.shape[-2:] == (c, c)
        if fits and all(have in (1, want) for have, want in zip(batched, batch, strict=True)):
            return transition
    raise ValueError(
        f"transition has shape {tuple(shape)}, which does not fit unary of shape {tuple(unary.shape)}; expected "
        f"{arguments.any_of((c, c), (*batch, c, c), (*batch, max(n - 1, 0), c, c))}"
    )
