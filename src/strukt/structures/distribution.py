"""`StructuredDistribution`: the operators that every structure has.

A structure implements its oracles (`strukt.kernels.oracles`) and the conversion of events to parts; all operators
follow from these. Operators that need one call of an oracle are in `ExactInference`; those here combine several
calls, search, or perturb the scores.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.distributions.kl import register_kl
from typing_extensions import Self

from strukt.checks import arguments, guards
from strukt.inference import perturb_and_map, surrogate_gradients
from strukt.inference.sparsemap import TOL, SparseMAP
from strukt.inference.without_replacement import sample_without_replacement
from strukt.kernels.places import log_ratio
from strukt.kernels.semiring import NEG_INF, constant_at_infinity, forbidden_only
from strukt.kernels.undifferentiated import plain
from strukt.structures import impossible, mode_parts, sparse
from strukt.structures.cached import cached
from strukt.structures.exact import ExactInference


class StructuredDistribution(ExactInference):
    """A distribution over structures whose score is the sum of the scores of their parts.

    The probability of a structure is proportional to the exponential of its score. A score of -inf, or below
    -1e15, forbids its part; NaN, +inf and scores above 1e15 are errors. An item is without structures if all of
    them are forbidden. Scores and events in the padding are ignored. An item of length 0 has one structure, the
    empty one, unless its class says otherwise. Scores in half precision are converted to float32. An operator
    raises NotImplementedError if the structure does not support it; the structure's class says which these are.
    See `ScoredStructures` for the members that a structure implements.

    Examples:
        >>> from strukt import LinearChain
        >>> unary = torch.tensor([[1.0, 0.0], [0.0, 0.5], [0.0, 0.0]])
        >>> chain = LinearChain(unary, torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
        >>> chain.mode, chain.max_score, chain.mbr
        (tensor([0, 1, 0]), tensor(3.5000), tensor([0, 1, 0]))
        >>> first = torch.tensor([True, False, False])
        >>> chain.partial_log_prob(torch.tensor([1, 0, 0]), known=first).exp()  # the first tag is 1
        tensor(0.2266)
        >>> later = chain.condition(forbidden=torch.tensor([[True, False], [False, False], [False, False]]))
        >>> later.mode, later.entropy()
        (tensor([1, 0, 1]), tensor(1.2451))
    """

    # Operators that call several others.

    @property
    @cached
    def mbr(self) -> Tensor:
        """The structure with the highest expected number of parts in common with a sample (MBR).

        MBR is minimum Bayes risk decoding. The shape is ``batch + event_shape``.

        Raises:
            InfeasibleError: If every structure of some item is forbidden.
        """
        main, *others = self.scores
        expected = torch.where(main == NEG_INF, main, self.marginals)
        return self._with_scores(expected, *(forbidden_only(score) for score in others)).mode

    def partial_log_prob(self, event: Tensor, known: Tensor) -> Tensor:
        """Return the log-probability, ``batch``, that a structure agrees with ``event`` where ``known`` is True.

        Args:
            event: ``batch + event_shape``, or a shape that broadcasts to it; entries that are not known are
                ignored.
            known: ``batch + event_shape``, Boolean.

        Raises:
            ValueError: If a shape is wrong, or a known entry has an invalid value, such as -100; other libraries
                mark unknown tags with it.
            NotImplementedError: If parts cannot be required, as in `TableStructure`.

        Warns:
            UserWarning: If no structure agrees with the known entries of an item that requires a gradient.
        """
        event = arguments.event(event, self.batch_shape, self.event_shape)
        arguments.fitting("event", event, self.batch_shape + self.event_shape)
        arguments.mask("known", known, self.batch_shape + self.event_shape)
        if self._validate_args:
            named = ~known | self._is_named(event)
            expected = "a value that structures can have there, or known to be False there"
            batch_axes = named.dim() - len(self.event_shape)
            guards.require_values(event.expand(named.shape), named, "event", expected, batch_axes)
        log_prob = log_ratio(self._agreeing(event, known).log_partition, self.log_partition)
        if self._validate_args:
            impossible.warn_once(log_prob, lambda: impossible.disagreement(log_prob))
        return log_prob

    @torch.no_grad()
    def sample_without_replacement(self, k: int) -> Tensor:
        """Draw k distinct structures, each from the distribution without those drawn before it.

        Returns:
            ``batch + (k,) + event_shape``, in the order in which they were drawn; -1 if there are fewer than k.

        Complexity: A draw computes one log-partition for each part that the structure uses; for subsets and other
        0/1 vectors, one for each possible part.

        Raises:
            InfeasibleError: If every structure of some item is forbidden.
            ValueError: If k is not an integer of 1 or more.
            NotImplementedError: If parts do not determine the structure, as in `BitSpanTree`, or cannot be
                required, as in `TableStructure`; or under ``torch.func.vmap``.
        """
        k, flat = arguments.positive_integer("k", k), self._flatten()

        def draw(required: Tensor, forbidden: Tensor) -> Tensor:
            """Draw a structure of each item; if an item has no structures left, draw from all its structures."""
            some = flat.condition(required, forbidden)
            exhausted = some.log_partition == NEG_INF
            scores = (
                torch.where(exhausted.reshape(-1, *(1,) * (score.dim() - 1)), whole, score)
                if len(score) == len(exhausted)
                else score
                for whole, score in zip(flat.scores, some.scores, strict=True)
            )
            return flat._with_scores(*scores).sample()

        for score in self.scores:
            plain(score)  # raises an error under vmap
        guards.require_feasible(*self._best())
        result = sample_without_replacement(
            k,
            flat.scores[0].shape,
            lambda required, forbidden: flat.condition(required, forbidden).log_partition,
            draw,
            flat.to_parts,
            flat._distinguishing_parts,
            flat.scores[0].device,
        )
        return arguments.several(self._to_batch(result), len(self.batch_shape))

    # Random scores.

    def perturb_and_map(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return modes of scores with Gumbel noise: fast, approximate samples (Papandreou and Yuille 2011).

        The noise is added to the main scores. Samples are exact only if every structure is a single part; `sample`
        is always exact.

        Returns:
            ``sample_shape + batch + event_shape``.

        Raises:
            InfeasibleError: If every structure of some item is forbidden.
            ValueError: If ``sample_shape`` is not a sequence of sizes.
        """
        return self._perturbed(sample_shape).mode

    def rsample_relaxed(
        self, temperature: float, sample_shape: Sequence[int] = (), straight_through: bool = False
    ) -> Tensor:
        """Draw relaxed samples, differentiable in the scores: marginals of scores with Gumbel noise.

        These are stochastic softmax tricks (Paulus et al. 2020).

        Args:
            temperature: A positive number; as it goes to 0, samples become the parts of `perturb_and_map`.
            sample_shape: The leading axes of the result.
            straight_through: Whether to return the discrete structures with the gradient of their relaxation.

        Returns:
            ``sample_shape +`` the shape of the main scores.

        Raises:
            InfeasibleError: With ``straight_through``, if every structure of some item is forbidden.
            ValueError: If the temperature is not positive and finite, or ``sample_shape`` is not a sequence of
                sizes.
            NotImplementedError: If there are no marginals, as in a large `Matching`, or marginals do not exist at
                other temperatures, as in `KDPP`.
        """
        perturbed = self._perturbed(sample_shape)
        scaled = perturb_and_map.at_temperature(perturbed.scores, temperature)
        relaxed = perturbed._with_scores(*scaled).marginals
        if not straight_through:
            return relaxed
        return surrogate_gradients.straight_through(perturbed.to_parts(perturbed.mode), relaxed)

    def rsample_implicit(self, step: float = 1.0, sample_shape: Sequence[int] = ()) -> Tensor:
        """Return the parts of `perturb_and_map` with the implicit gradient of I-MLE (Niepert et al. 2021).

        It needs only the mode, so it works without a log-partition.

        Args:
            step: The step size: the gradient is (parts - q) / step, where q are the parts of the mode of the
                scores minus ``step`` times the gradient with respect to the parts.
            sample_shape: The leading axes of the result.

        Returns:
            ``sample_shape +`` the shape of the main scores, with entries 0 and 1.

        Raises:
            InfeasibleError: If every structure of some item is forbidden.
            ValueError: If the step is not positive and finite, or ``sample_shape`` is not a sequence of sizes.
        """
        return self._perturbed(sample_shape).mode_parts("perceptron", step)

    def mode_parts(self, gradient: str = "straight-through", step: float = 1.0) -> Tensor:
        """Return the parts of the mode, with a surrogate for their true gradient, which is 0.

        | gradient | with respect to the scores, if that with respect to the parts is g |
        |---|---|
        | ``"straight-through"`` | g |
        | ``"spigot"`` | (parts - m) / step; m: the marginals nearest to (parts - step g) |
        | ``"perceptron"`` | (parts - q) / step; q: the parts of the mode for (scores - step g) |

        The last two are SPIGOT (Peng et al. 2018, equation 4) and the structured perceptron.

        Args:
            gradient: The name of the surrogate.
            step: The size of the step against g; ignored by ``"straight-through"``.

        Returns:
            A tensor in the shape of the main scores, with entries 0 and 1.

        Raises:
            InfeasibleError: If every structure of some item is forbidden.
            ValueError: If the surrogate is unknown, or the step that it uses is not positive and finite.
            NotImplementedError: With ``"spigot"``, if the score is not a sum over parts, as in `KDPP`.
        """
        return mode_parts.mode_parts(self, gradient, step)

    def _perturbed(self, sample_shape: Sequence[int]) -> Self:
        """Return copies of the distribution, ``sample_shape + batch``, each with noise on its main scores."""
        copies = self.expand(arguments.sample_shape(sample_shape) + self.batch_shape)
        return copies._with_scores(*perturb_and_map.perturbed(copies.scores))

    # The nearest point of the marginal polytope.

    def sparsemap(
        self,
        max_iterations: int | None = None,
        tol: float = TOL,
        method: str = "active_set",
        start: SparseMAP | None = None,
    ) -> SparseMAP:
        """Return the sparse marginals (SparseMAP): the point of the marginal polytope nearest to the main scores.

        Scores other than the main ones enter linearly, as in SparseMAP (Niculae et al. 2018, equation 5). A
        call of the mode oracle adds O(k^2 + k p) for k structures of p parts; a derivative takes O(k^3).

        Args:
            max_iterations: The largest number of calls of the mode oracle for one item, after which the result is
                the best for the structures seen so far; that suffices for training. None for 1,000, which few
                items need.
            tol: The error in the marginals at which to stop, computed in double precision.
            method: ``"active_set"``, or the structure's closed form if there is one; for comparison,
                ``"conditional_gradient"``, ``"away_step"`` or ``"pairwise"``.
            start: An earlier result as a warm start, if scores have changed little; ignored by closed forms.

        Raises:
            ValueError: If an argument is out of range, or ``start`` is of another batch.
            InfeasibleError: If every structure of some item is forbidden.

        Warns:
            UserWarning: If ``max_iterations`` is None and some item did not converge; the warning has the duality
            gap.
        """
        return sparse.sparsemap(self, max_iterations, tol, method, start)


@register_kl(StructuredDistribution, StructuredDistribution)  # type: ignore[no-untyped-call, untyped-decorator]
def _kl(p: StructuredDistribution, q: StructuredDistribution) -> Tensor:
    return constant_at_infinity(p.cross_entropy(q) - p.entropy())
