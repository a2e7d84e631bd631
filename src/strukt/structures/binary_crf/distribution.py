"""The fully connected binary CRF: binary variables with a score for each pair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import torch
from torch import Tensor

from strukt.checks import arguments
from strukt.checks.lengths import Lengths
from strukt.inference.belief_propagation import BeliefPropagation, belief_propagation
from strukt.inference.mean_field import Blocks, MeanField, Settings, mean_field
from strukt.kernels.full_precision import full_precision
from strukt.kernels.oracles import Oracles
from strukt.kernels.places import sum_of_totals
from strukt.kernels.semiring import NEG_INF
from strukt.structures import events
from strukt.structures.binary_crf.reference import REFERENCE, max_marginals
from strukt.structures.indicator import AbsenceStructure


class BinaryCRF(AbsenceStructure):
    """The fully connected binary CRF, a Boltzmann machine (Ackley, Hinton and Sejnowski 1985).

    The score of a 0/1 vector s is sum_i unary_i s_i + 1/2 sum_ij pairwise_ij s_i s_j, where i and j differ.

    Args:
        unary: ``batch + (n,)``, the score of a 1 at each position.
        pairwise: ``batch + (n, n)``, or ``(n, n)`` for all items: the score of two ones. It should be symmetric;
            if not, the mean of ``[i, j]`` and ``[j, i]`` is used. The diagonal has no effect, but must not
            be NaN or +inf.
        lengths: ``batch``; all n if None.
        validate_args: Whether to check values as well as shapes; if None, see `strukt.set_default_validate_args`.

    `StructuredDistribution` has the operators, and the rules for -inf, NaN and padding.

    Events are 0/1 vectors ``batch + (n,)``, -1 in the padding. Exact operators enumerate: O(2^n) time and memory
    per item, for n up to 20; `max_marginals` takes O(n 2^n) time. For larger n they raise NotImplementedError,
    because the log-partition is #P-hard and the mode NP-hard. `mean_field` and `belief_propagation` approximate
    the log-partition and the marginals for any n.

    `mbr` maximises the expected number of ones in common with a sample. Additional ones never lower this number,
    so the result is a permitted vector to which no 1 can be added.

    Raises:
        ValueError: If shapes, types or values do not fit.

    Examples:
        >>> pairwise = torch.tensor([[0.0, 2.0, 0.0], [2.0, 0.0, -1.0], [0.0, -1.0, 0.0]])
        >>> crf = BinaryCRF(torch.tensor([-1.0, -0.5, 0.2]), pairwise)
        >>> crf.mode, crf.max_score
        (tensor([1, 1, 0]), tensor(0.5000))
        >>> crf.marginals
        tensor([0.5084, 0.5182, 0.4256])
        >>> crf.condition(required=torch.tensor([True, False, False])).marginals
        tensor([1.0000, 0.7452, 0.3711])
        >>> crf.mean_field().lower_bound < crf.log_partition
        tensor(True)
    """

    oracles = Oracles(__package__, scores=("unary", "pairwise", "absent"), options=(), reference=REFERENCE)
    _best_with_each_part = staticmethod(max_marginals)
    score_names: ClassVar[tuple[str, ...]] = ("unary", "pairwise", "absent")
    extents = ([0], [0, 0], [0])

    def __init__(
        self,
        unary: Tensor,
        pairwise: Tensor,
        lengths: Lengths | None = None,
        validate_args: bool | None = None,
    ) -> None:
        arguments.scores("unary", unary, "batch + (n,)", 1)
        arguments.not_lengths("pairwise", pairwise, "unary", "BinaryCRF", "(n, n)")
        arguments.scores("pairwise", pairwise, "batch + (n, n)", 2)
        super().__init__((unary, _fitting(unary, pairwise)), lengths, validate_args)

    @property
    def pairwise_marginals(self) -> Tensor:
        """The probability that both variables of a pair are 1: ``batch + (n, n)``; differentiable.

        The diagonal holds the probabilities of single variables, `marginals`.
        """
        unary, pairwise, *rest = self._arguments()
        each = pairwise.expand(len(unary), *pairwise.shape[1:])
        marginals, halves, _ = self.oracles.marginals(unary, each, *rest)
        return self._to_batch(2 * halves + torch.diag_embed(marginals))

    @full_precision
    def mean_field(
        self,
        iterations: int = 50,
        *,
        tol: float | None = None,
        schedule: Literal["sequential", "parallel"] = "sequential",
        step_size: float | Tensor = 1.0,
        damping: float | Tensor = 0.0,
        weight: float | Tensor = 1.0,
        regularizer: Literal["entropy", "sparsemax"] = "entropy",
        gradients: Literal["unrolled", "implicit"] = "unrolled",
    ) -> MeanField[Tensor]:
        """Return the mean-field approximation by independent variables, for any n; differentiable.

        It starts from the distributions of the unary scores alone (Wainwright and Jordan 2008, section 5; with
        weights Lê-Huu and Alahari 2021). Sequential sweeps do not raise the free energy, unless a step size below
        1 is combined with damping. A parallel sweep is a single matrix product, but may oscillate without damping
        or a small step. Time O(n^2) per sweep.

        Args:
            iterations: The largest number of sweeps over all variables.
            tol: An item stops after a sweep that changes its probabilities by at most this; None for all sweeps.
            schedule: ``sequential`` to update one variable after another, ``parallel`` to update all at once.
            step_size: The weight of the new value of a probability, above 0 and up to 1; or ``(n,)``, a weight for
                each variable.
            damping: The weight of the old message to a variable, from 0 to below 1; or ``(n,)``.
            weight: The weight of the regulariser, by which messages are divided; or ``(n,)``.
            regularizer: ``entropy``, or ``sparsemax`` for sparse probabilities, many of them 0 or 1.
            gradients: ``unrolled`` through all sweeps; or ``implicit``, at the fixed point: first derivatives
                only, and in ``torch.func`` only in forward mode.

        Raises:
            ValueError: If an option is out of range, or has a wrong shape.

        Warns:
            UserWarning: If ``tol`` is not None and some item has not converged after all sweeps.
        """
        settings = Settings(iterations, tol, step_size, damping, weight, regularizer, gradients)
        unary, pairwise, constant = self._unconditioned()
        batch, n = self.batch_shape, unary.shape[-1]
        pairs = _Pairs(unary.reshape(batch.numel(), n), pairwise.reshape(batch.numel(), n, n))
        result = mean_field(pairs, _steps(n, schedule, unary.device), settings)
        marginals = self._filled(result.marginals.reshape(*batch, n))
        energy, free = (
            trace.reshape(*batch, trace.shape[-1]) - constant.unsqueeze(-1)
            for trace in (result.energy, result.free_energy)
        )
        ends = (part.reshape(batch) for part in (result.status, result.residual, result.iterations))
        return MeanField(marginals, energy, free, *ends)

    @full_precision
    def belief_propagation(self, iterations: int = 100, damping: float = 0.5) -> BeliefPropagation:
        """Run loopy belief propagation: marginals and the Bethe estimate of the log-partition; differentiable.

        If the pairs with a nonzero score form no cycle, a fixed point is exact but for the pairwise marginals of
        other pairs (Yedidia, Freeman and Weiss 2005). Time O(n^2) per iteration.

        Args:
            iterations: The number of rounds of messages; ``change`` in the result shows whether they sufficed.
            damping: The weight of the old message in the new one, from 0 to below 1.

        Raises:
            ValueError: If ``iterations`` is below 1, or the damping is out of range.
        """
        unary, pairwise, constant = self._unconditioned()
        result = belief_propagation(unary, pairwise, iterations, damping)
        marginals = self._filled(result.marginals)
        required = self._required
        pairs = torch.where(required.unsqueeze(-1), marginals.unsqueeze(-2), result.pairwise_marginals)
        pairs = torch.where(required.unsqueeze(-2), marginals.unsqueeze(-1), pairs)
        return BeliefPropagation(marginals, pairs, result.log_partition + constant, result.change)

    def _are_structures(self, event: Tensor) -> Tensor:
        return self._is_indicator(event)

    @property
    def _within(self) -> Tensor:
        return events.within(self.lengths, self.event_shape[0])

    def _score(self, event: Tensor) -> Tensor:
        used = self._used(event)
        unary, _, absent = self.scores
        linear = sum_of_totals((unary, absent), (1, 1), self._apply(events.item_places, event, axes=1))
        pairs = used.unsqueeze(-1) & used.unsqueeze(-2) & ~_diagonal(self.scores[1])
        pairwise = torch.where(pairs, self.scores[1], torch.zeros_like(self.scores[1]))
        return linear + 0.5 * pairwise.flatten(-2).sum(-1)

    def _unconditioned(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return the scores of the model given its required variables, and the score of these variables alone.

        In this model, required variables and padding must be 0 and have no pairs. The scores of pairs with a
        required variable are added to the scores of the other variable.
        """
        unary, pairwise, _ = self.scores
        within, required = self._within, self._required
        free = within & ~required
        pairwise = (0.5 * (pairwise + pairwise.mT)).masked_fill(_diagonal(pairwise), 0.0)
        beside = torch.where(
            free.unsqueeze(-1) & required.unsqueeze(-2), pairwise, torch.zeros_like(pairwise)
        )
        unary = torch.where(free, unary + beside.sum(-1), NEG_INF)
        pairwise = torch.where(free.unsqueeze(-1) & free.unsqueeze(-2), pairwise, torch.zeros_like(pairwise))
        return unary, pairwise, self._score(required.long())

    def _filled(self, marginals: Tensor) -> Tensor:
        """Return the marginals with 1 for required variables."""
        return torch.where(self._required, torch.ones_like(marginals), marginals)


class _Pairs:
    """A model for mean field, see `strukt.inference.mean_field.Model`, of scores and symmetric scores of pairs.

    Args:
        unary: ``(batch, n)``, the scores.
        pairwise: ``(batch, n, n)``, the scores of pairs, -inf for forbidden pairs.
    """

    def __init__(self, unary: Tensor, pairwise: Tensor) -> None:
        self.scores = unary
        self._excluded = pairwise == NEG_INF
        self._excludes = bool(self._excluded.any())
        self._pairwise = torch.where(self._excluded, torch.zeros_like(pairwise), pairwise)

    def expected(self, point: Tensor) -> Tensor:
        """Return the expected score of pairs, ``(batch,)``, at probabilities ``(batch, n)``."""
        result = 0.5 * (point * (self._pairwise @ point.unsqueeze(-1)).squeeze(-1)).sum(-1)
        if self._excludes:
            some = point > 0
            both = self._excluded & some.unsqueeze(-1) & some.unsqueeze(-2)
            result = result.masked_fill(both.flatten(1).any(1), NEG_INF)
        return result

    def fields(self, point: Tensor, variables: Sequence[Tensor]) -> list[Tensor]:
        """Return, for each of ``variables (k, 1)``, the derivatives of `expected`: ``(batch, k, 1)``."""
        return [self._fields(point, some[:, 0]) for some in variables]

    def _fields(self, point: Tensor, places: Tensor) -> Tensor:
        """Return the derivatives of `expected` with respect to the variables ``places (k,)``: ``(batch, k, 1)``.

        They are -inf for variables with a forbidden pair whose other variable has positive probability.
        """
        field = self._pairwise[:, places] @ point.unsqueeze(-1)
        if self._excludes:
            blocked = (self._excluded[:, places] & (point > 0).unsqueeze(1)).any(-1, keepdim=True)
            field = field.masked_fill(blocked, NEG_INF)
        return field


def _steps(n: int, schedule: str, device: torch.device) -> list[list[Blocks]]:
    """Return the steps of a sweep: one variable in each step, or a single step for all.

    Raises:
        ValueError: If there is no such schedule.
    """
    every = torch.arange(n, device=device).unsqueeze(1)
    if schedule == "parallel":
        return [[Blocks(every, False)]]
    if schedule == "sequential":
        return [[Blocks(variable.unsqueeze(0), False)] for variable in every]
    raise ValueError(f"schedule is {schedule!r}; expected sequential or parallel")


def _diagonal(pairwise: Tensor) -> Tensor:
    """Return a mask of the diagonal, ``(n, n)``."""
    return torch.eye(pairwise.shape[-1], dtype=torch.bool, device=pairwise.device)


def _fitting(unary: Tensor, pairwise: Tensor) -> Tensor:
    """Return pairwise scores with all batch axes, of size 1 if shared: ``(..., n, n)``.

    Raises:
        ValueError: If they do not fit the unary scores.
    """
    *batch, n = unary.shape
    shape = pairwise.shape
    if pairwise.dim() == 2:
        pairwise = pairwise.view(*(1,) * len(batch), *shape)
    fits = pairwise.dim() == len(batch) + 2 and pairwise.shape[-2:] == (n, n)
    if fits and all(have in (1, want) for have, want in zip(pairwise.shape, batch, strict=False)):
        return pairwise
    raise ValueError(
        f"pairwise has shape {tuple(shape)}, which does not fit unary of shape {tuple(unary.shape)}; expected "
        f"{arguments.any_of((*batch, n, n), (n, n))}"
    )
