"""The oracles of structures whose backends compute entropies, as those of table programs do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from strukt.kernels.autograd import Scores, alone, as_tuple, call, call_backward
from strukt.kernels.functions import formula_function, number_function
from strukt.kernels.gradients import differentiated, owned
from strukt.kernels.oracles import Oracles


class TableOracles(Oracles):
    """Oracles whose backends also compute ``entropy``, ``surprise`` (cross-entropy) and their gradients.

    The arguments are those of `Oracles`. The reference computes the oracles that a backend lacks.
    """

    def __init__(self, name: str, scores: tuple[str, ...], *arguments: Any, **more: Any) -> None:
        super().__init__(name, scores, *arguments, **more)
        main = ", ".join(f"Tensor {score}" for score in scores)
        others = ", ".join(f"Tensor other_{score}" for score in scores)
        grads = ", ".join(["Tensor"] * len(scores))
        one, both = f"({main}, {self._rest}", f"({main}, {others}, {self._rest}"
        entropy = self._operator("entropy", f"{one}) -> Tensor", self._fake_number)
        slope = self._operator("entropy_gradient", f"{one}, Tensor factors) -> ({grads})", self._fake_outside)
        surprise = self._operator("surprise", f"{both}) -> Tensor", self._fake_number)
        surprise_slope = self._operator(
            "surprise_gradient", f"{both}, Tensor factors) -> ({grads})", self._fake_outside
        )
        self._entropy_gradient = formula_function(slope, self._entropy_slope)
        self._surprise_gradient = formula_function(surprise_slope, self._surprise_slope)
        self._entropy = number_function(entropy, self._slopes_of_entropy)
        self._surprise = number_function(surprise, self._slopes_of_surprise)

    def entropy(self, *arguments: Any) -> Tensor:
        return call(self._entropy, *arguments)  # type: ignore[no-any-return]

    def cross_entropy(self, scores: Scores, other: Scores, *rest: Any) -> Tensor:
        return call(self._surprise, *scores, *other, *rest)  # type: ignore[no-any-return]

    def _declines(self) -> dict[str, Callable[..., bool]]:
        one, both = ("entropy", "entropy_gradient"), ("surprise", "surprise_gradient")
        more = dict.fromkeys(one, self._beyond) | dict.fromkeys(both, self._either_beyond)
        return super()._declines() | more

    def _either_beyond(self, backend: Any, *arguments: Any) -> bool:
        """Return True if the scores of one of two distributions are too large for the backend; see `_beyond`."""
        scores, other = arguments[: self._count], arguments[self._count : 2 * self._count]
        rest = arguments[2 * self._count :]
        return self._beyond(backend, *scores, *rest) or self._beyond(backend, *other, *rest)

    # Gradients, themselves differentiable.

    def _slopes_of_entropy(self, *arguments: Any) -> Scores:
        """Return the gradients of the entropies times factors; the last arguments are factors and entropies."""
        *inputs, _ = arguments
        return as_tuple(call_backward(self._entropy_gradient, *inputs))

    def _slopes_of_surprise(self, *arguments: Any) -> Scores:
        """Return the gradients of cross-entropies times factors with respect to the first and the other scores.

        The last arguments are the factors and the cross-entropies. The first gradients have an operator; the
        others are the marginals of the other scores minus those of the first. Items whose cross-entropy is
        infinite have length 0 here, and so the gradient 0 in every kernel.
        """
        *inputs, factors, value = arguments
        both, (lengths, *rest) = inputs[: 2 * self._count], inputs[2 * self._count :]
        infinite = value == torch.inf
        rest = [torch.where(infinite, 0, lengths), *rest]
        factors = torch.where(infinite, 0.0, factors)
        scores, other = both[: self._count], both[self._count :]

        def used(these: Sequence[Tensor]) -> Scores:
            _, chart = call_backward(self._inside, *these, *rest)
            return as_tuple(call_backward(self._outside, *these, *rest, factors, chart))

        slopes = as_tuple(call_backward(self._surprise_gradient, *both, *rest, factors))
        differences = (theirs - mine for theirs, mine in zip(used(other), used(scores), strict=True))
        return (*slopes, *differences)

    def _entropy_slope(self, *arguments: Any) -> Scores:
        """Return the gradients of the entropies times factors, the last argument, through the reference."""
        *inputs, factors = arguments
        rest = inputs[self._count :]

        def entropy(*scores: Tensor) -> Tensor:
            return self.reference.entropy(*scores, *rest)

        return as_tuple(torch.func.vjp(entropy, *inputs[: self._count])[1](factors))

    def _surprise_slope(self, *arguments: Any) -> Scores:
        """Return the gradients of cross-entropies times factors with respect to the first scores.

        They are computed through the reference; the last argument is the factors.
        """
        *inputs, factors = arguments
        other, rest = tuple(inputs[self._count : 2 * self._count]), inputs[2 * self._count :]

        def surprise(*scores: Tensor) -> Tensor:
            return self.reference.cross_entropy(scores, other, *rest)

        return as_tuple(torch.func.vjp(surprise, *inputs[: self._count])[1](factors))

    # Operators by the reference, and shapes for tracing.

    def _reference_entropy(self, *arguments: Any) -> Tensor:
        with torch.no_grad():
            result = self.reference.entropy(*arguments)
        return result.clone()  # the result may be a view

    def _reference_surprise(self, *arguments: Any) -> Tensor:
        scores, other = arguments[: self._count], arguments[self._count : 2 * self._count]
        with torch.no_grad():
            result = self.reference.cross_entropy(scores, other, *arguments[2 * self._count :])
        return result.clone()

    def _reference_entropy_gradient(self, *arguments: Any) -> Tensor | Scores:
        return alone(owned(differentiated(self._entropy_slope, arguments)))

    def _reference_surprise_gradient(self, *arguments: Any) -> Tensor | Scores:
        return alone(owned(differentiated(self._surprise_slope, arguments)))

    def _fake_number(self, *arguments: Any) -> Tensor:
        return arguments[0].new_empty(len(arguments[0]))  # type: ignore[no-any-return]
