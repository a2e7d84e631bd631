"""Determinantal point processes (k-DPP): diverse subsets of a given size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor
from typing_extensions import Self

from strukt.checks import arguments, guards
from strukt.checks.lengths import Lengths
from strukt.kernels.oracles import Oracles
from strukt.kernels.places import sum_of_totals
from strukt.kernels.semiring import NEG_INF, Counting
from strukt.structures.k_dpp import enumeration, selection
from strukt.structures.k_dpp.items import Items, rank_tolerance
from strukt.structures.k_dpp.reference import REFERENCE
from strukt.structures.k_subset.distribution import KSubset, Size, SubsetStructure, omissions, sizes_of
from strukt.structures.k_subset.reference import padded


class KDPP(SubsetStructure):
    """The k-DPP: subsets of k items, proportional to det(kernel[S, S]) (Kulesza and Taskar 2012, section 5.2).

    The determinant is the squared volume that the items of S span, so similar items rarely occur together.

    Args:
        kernel: ``batch + (n, n)``, or ``(n, n)``, shared by the whole batch of ``scores``; symmetric and positive
            semidefinite: the similarity of each pair of items.
        k: The size of the subsets: a non-negative integer, or a LongTensor ``batch``. Sizes above the length have
            no subset.
        lengths: ``batch``; all n if None.
        scores: ``batch + (n,)``, a log-weight for taking each item, added to the log-determinant; 0 if None. They
            are the main scores: the marginals have their shape, and -inf forbids an item.
        omitted: ``batch + (n,)`` or ``(n,)``, a log-weight for leaving each item out; 0 if None. -inf means that
            the item must be taken.
        validate_args: Whether to check values as well as shapes; if None, see `strukt.set_default_validate_args`.

    `StructuredDistribution` has the operators, and the rules for -inf, NaN and padding.

    Events are ``batch + (n,)``: 1 for items taken, 0 for others, -1 in the padding. The score of a subset is log
    det(kernel[S, S]) plus ``scores`` of its items plus ``omitted`` of the others. It is not a sum over parts,
    unlike the scores of other structures. For each batch item,
    `log_partition` and `marginals` take O(m n^3) time for m determinants, with m of order k and at most n / 2 + 1;
    a sample takes O(n k^2) after O(n^3). The best subset is NP-hard to find (Ko, Lee and Queyranne 1995) and the
    entropy has no closed form: `mode`, `max_score`, `topk`, `max_marginals`, `mbr`, `sparsemap`, `entropy`,
    `cross_entropy`, `log_count` and all operators that need them enumerate the subsets of up to 12 items, and
    raise NotImplementedError for more; `greedy_mode` takes O(n k^2) after O(n^3).

    Items are linearly dependent if their kernel, scaled to unit diagonal, has an eigenvalue of at most 4 n times
    the machine epsilon of its type. Subsets of dependent items have probability 0; if there are no other subsets,
    the log-partition is -inf.

    Raises:
        ValueError: If shapes, types or values do not fit.

    Examples:
        >>> features = torch.tensor([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]])
        >>> pairs = KDPP(features @ features.mT, 2)
        >>> pairs.marginals
        tensor([0.5549, 0.4505, 0.9945])
        >>> pairs.greedy_mode
        tensor([1, 0, 1])
    """

    oracles = Oracles(
        __package__, scores=("scores", "omitted", "kernel"), options=(), reference=REFERENCE, constants=("k",)
    )
    score_names: ClassVar[tuple[str, ...]] = ("scores", "omitted", "kernel")
    constant_names: ClassVar[tuple[str, ...]] = ("k",)
    extents = ([0], [0], [0, 0])
    logs = 2

    def __init__(
        self,
        kernel: Tensor,
        k: Size,
        lengths: Lengths | None = None,
        scores: Tensor | None = None,
        omitted: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        arguments.scores("kernel", kernel, "batch + (n, n)", 2)
        if kernel.shape[-1] != kernel.shape[-2]:
            raise ValueError(
                f"kernel has shape {tuple(kernel.shape)}; expected batch + (n, n), a row and a column per item"
            )
        scores = kernel.new_zeros(kernel.shape[:-1]) if scores is None else scores
        arguments.scores("scores", scores, "batch + (n,)", 1)
        self._input_dtype = kernel.dtype
        kernel = _fitting(kernel, scores)
        lengths = arguments.lengths(
            lengths, scores.shape[:-1], scores.shape[-1], scores.device, check=validate_args is not False
        )
        every = (scores, omissions(omitted, scores), kernel)
        super().__init__(every, lengths, (), validate_args, (sizes_of(k, scores),))

    @property
    def kernel(self) -> Tensor:
        """The kernel, ``batch + (n, n)``, or with batch axes of size 1 if all items share it."""
        return self.scores[2]

    @property
    def greedy_mode(self) -> Tensor:
        """A subset of high score, built by adding the best item in each step (Chen et al. 2018); ``batch + (n,)``.

        Raises:
            InfeasibleError: If every subset of some batch item has probability 0.
        """
        flat = self._arguments()
        with torch.no_grad():
            items = Items.load(*flat)
            taken = selection.greedy(items, rank_tolerance(self.kernel))
        complete = items.feasible & (taken.sum(-1) == items.size)
        events = padded(taken.long(), flat[3])
        guards.require_feasible(events, torch.where(complete, 0.0, NEG_INF))
        return self._to_batch(events)

    def _max_marginals(self) -> Tensor:
        return self._to_batch(enumeration.max_marginals(*self._arguments()))

    @property
    def mbr(self) -> Tensor:
        marginals = self.marginals.reshape(self._batch_size(), *self.event_shape)
        events, weights = enumeration.most_expected(marginals, *self._arguments())
        guards.require_feasible(events, weights)
        return self._to_batch(events)

    @property
    def log_count(self) -> Tensor:
        return self._to_batch(enumeration.recursion(Counting(), *self._arguments())).detach()

    def _score(self, event: Tensor) -> Tensor:
        shape = arguments.broadcast_shapes(event.shape, self.batch_shape + self.event_shape)
        batch = shape[len(shape) - 1 - len(self.batch_shape) : -1]
        if batch != self.batch_shape:
            return self.expand(batch)._score(event)
        items = sum_of_totals(self.scores[:2], (1, 1), self._places_of_items(event))
        event = event.expand(shape)
        samples = event.shape[: event.dim() - len(self.batch_shape) - 1].numel()
        every = event.reshape(samples, self._batch_size(), *self.event_shape).transpose(0, 1)
        *_, kernel, lengths, _ = self._arguments()
        volume = enumeration.log_det(kernel, every == 1, lengths).T.reshape(event.shape[:-1])
        return items + volume.to(kernel.dtype)

    def _forbidden(self, event: Tensor) -> str | None:
        taken, omitted, _ = self.scores
        k = self.constants[0]
        items = KSubset(taken, (k, k), self.lengths, omitted, validate_args=False)
        return items._forbidden(event) or "its items are linearly dependent, so that their determinant is 0"

    def rsample_relaxed(
        self, temperature: float, sample_shape: Sequence[int] = (), straight_through: bool = False
    ) -> Tensor:
        raise NotImplementedError(
            "a k-DPP raised to a power is not a k-DPP, so its marginals have no closed form; use "
            "rsample_implicit, which needs only the mode"
        )

    def mode_parts(self, gradient: str = "straight-through", step: float = 1.0) -> Tensor:
        if gradient == "spigot":
            raise NotImplementedError(
                "the score of a subset has a log-determinant besides the scores of its items, so SPIGOT cannot "
                "project onto its parts; use gradient='perceptron', which needs only the mode"
            )
        return super().mode_parts(gradient, step)

    def _rebuilt(self, scores: tuple[Tensor, ...], lengths: Tensor, constants: tuple[Tensor, ...]) -> Self:
        taken, omitted, kernel = scores
        return type(self)(kernel, constants[0], lengths, taken, omitted, validate_args=False)

    def _in_double_precision(self) -> Self:
        # In float64 a float32 kernel may seem to have a higher rank than it has, so that nothing seems impossible.
        guards.require_feasible(*self.oracles.best(*self._arguments()))
        return super()._in_double_precision()

    def _check_values(self) -> None:
        *_, kernel, lengths, k = self._arguments()
        guards.require_sizes(k, k)
        if not len(lengths):
            return
        reach = lengths if len(kernel) == len(lengths) else lengths.amax(0, keepdim=True)
        try:
            guards.require_kernels(kernel, reach)
        except ValueError as error:
            if self._input_dtype in (torch.float32, torch.float64):
                raise
            raise ValueError(
                f"{error}; it was given in {self._input_dtype}, whose rounding alone can produce such "
                "eigenvalues: compute it in float32"
            ) from None


def _fitting(kernel: Tensor, scores: Tensor) -> Tensor:
    """Return the kernel with the batch axes of ``scores``, of size 1 if all items share it.

    Raises:
        ValueError: If its shape does not fit ``scores``.
    """
    n = scores.shape[-1]
    shared = (*(1,) * (scores.dim() - 1), n, n)
    shaped = kernel.reshape(*shared[:-2], *kernel.shape) if kernel.dim() == 2 else kernel
    if shaped.shape not in ((*scores.shape, n), shared):
        raise ValueError(
            f"kernel has shape {tuple(kernel.shape)}, which does not fit the scores of shape "
            f"{tuple(scores.shape)}; expected {arguments.any_of((*scores.shape, n), (n, n))}"
        )
    return shaped
