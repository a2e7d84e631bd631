"""The oracles of a structure, as operators for autograd, ``torch.func`` and ``torch.compile``.

Every structure has the same oracles: log-partition, marginals, a best event, the k best, exact samples. `Oracles`
makes one opaque operator for each, so that a compiled graph never breaks; `strukt.kernels.dispatch` chooses the
backend in it. Derivatives link the operators. The gradient of the log-partition is the marginals, computed by the
fused outside pass. The derivative of the marginals is computed by the backend's kernel ``derivative``; without
one, it is the second derivative of the reference, which also provides all higher derivatives.

All tensors here have exactly one batch axis, in front. A score tensor after the main one may have a batch axis of
size g < batch, where consecutive batch / g items share each entry: its gradient is the sum over these items.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from math import isnan
from typing import Any

import torch
from torch import Tensor

from strukt.kernels import detour, dispatch
from strukt.kernels.autograd import Scores, alone, as_tuple, call
from strukt.kernels.functions import constant_function, formula_function, inside_function, outside_function
from strukt.kernels.gradients import differentiated, outside_derivative, owned, pull_backs
from strukt.kernels.magnitude import beyond
from strukt.kernels.operator import operator
from strukt.kernels.reference import Reference
from strukt.kernels.semiring import constant_at_infinity


class Oracles:
    """The operators of one structure.

    Args:
        name: The package with the structure's kernels, modules ``cpu`` and ``gpu``, usually ``__package__``;
            without kernels, any name without a dot.
        scores: The names of the score tensors, main scores first.
        options: The names of the structure's Boolean options; options of another type as ``"type name"``.
        reference: The implementation in PyTorch, for devices without kernels, such as a `DynamicProgram`.
        event_dim: The number of axes of an event; they are the first part axes of the main scores.
        constants: The names of the integer tensors that, with the lengths, determine the set of structures.

    Where a method takes ``*arguments``, they begin with ``(*scores, lengths, *constants, *options)``: scores and
    constants ``(batch, ...)``, lengths ``(batch,)``. Further arguments are those that its docstring names.

    Examples:
        >>> from strukt.kernels.dynamic_program import DynamicProgram
        >>> def one_of(ring, scores, lengths):
        ...     return ring.sum(ring.weigh(ring.one(scores), scores), -1)
        >>> oracles = Oracles("one_of", ("scores",), (), DynamicProgram(one_of, count=1), event_dim=0)
        >>> scores, lengths = torch.tensor([[1.0, 3.0, 0.0]]).log(), torch.tensor([1])
        >>> oracles.marginals(scores, lengths), oracles.best(scores, lengths)
        ((tensor([[0.2500, 0.7500, 0.0000]]),), (tensor([1]), tensor([1.0986])))
    """

    def __init__(
        self,
        name: str,
        scores: tuple[str, ...],
        options: tuple[str, ...],
        reference: Reference,
        event_dim: int = 1,
        constants: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.reference = reference
        self.event_dim = event_dim
        self._count = len(scores)
        self._arity = len(scores) + 1 + len(constants) + len(options)
        tensors = (f"Tensor {each}" for each in ("lengths", *constants))
        self._rest = ", ".join([*tensors, *(each if " " in each else f"bool {each}" for each in options)])
        arguments = ", ".join([*(f"Tensor {score}" for score in scores), self._rest])
        marginals = ", ".join(["Tensor"] * len(scores))
        directions = ", ".join(f"Tensor {score}_direction" for score in scores)
        inside = self._operator("inside", f"({arguments}) -> (Tensor, Tensor)", self._fake_inside)
        outside = self._operator(
            "outside", f"({arguments}, Tensor weights, Tensor chart) -> ({marginals})", self._fake_outside
        )
        derivative = self._operator(
            "derivative",
            f"({arguments}, Tensor weights, {directions}, Tensor chart) -> ({marginals}, Tensor)",
            self._fake_derivative,
        )
        self._derivative = formula_function(derivative, self._outside_derivative)
        self._outside = outside_function(outside, self._derivative)
        self._inside = inside_function(inside, self._outside, self._derivative)
        self._best, self._kbest, self._sample = (
            constant_function(self._operator(oracle, f"({arguments}{number}) -> (Tensor, Tensor)", fake))
            for oracle, number, fake in (
                ("best", "", self._fake_best),
                ("kbest", ", int k", self._fake_kbest),
                ("sample", ", int count", self._fake_sample),
            )
        )

    def log_partition(self, *arguments: Any) -> Tensor:
        """Return the log-partition ``(batch,)``, differentiable any number of times."""
        return call(self._inside, *arguments)[0]  # type: ignore[no-any-return]

    def marginals(self, *arguments: Any) -> Scores:
        """Return the probability of each part, summed over the items that share its score; differentiable."""
        log_partition, chart = call(self._inside, *arguments)
        return as_tuple(call(self._outside, *arguments, torch.ones_like(log_partition), chart))

    def inside(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        """Return the log-partition ``(batch,)`` and the chart that `outside` needs; not differentiable."""
        return self._inside.direct(*arguments)  # type: ignore[no-any-return]

    def outside(self, *arguments: Any) -> Tensor | Scores:
        """Return the marginals times weights ``(batch,)``: a tuple if there are several tensors of scores.

        The last arguments are the weights and the chart. Not differentiable.
        """
        return self._outside.direct(*arguments)  # type: ignore[no-any-return]

    def derivative(self, *arguments: Any) -> Scores:
        """Return the gradients of the inner product <`outside`, directions> with respect to scores and weights.

        There is one for each tensor of scores, then that of the weights, ``(batch,)``. The last arguments are the
        weights, a direction for each tensor of scores, and the chart. Not differentiable.
        """
        return self._derivative.direct(*arguments)  # type: ignore[no-any-return]

    def best(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        """Return a best event ``(batch, *event)`` and its score ``(batch,)``; -1 and -inf if there is none."""
        return call(self._best, *arguments)  # type: ignore[no-any-return]

    def kbest(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        """Return the k best events ``(batch, k, *event)`` and scores ``(batch, k)``; k is the last argument.

        If there are fewer structures, events are padded with -1 and scores with -inf.
        """
        return call(self._kbest, *arguments)  # type: ignore[no-any-return]

    def sample(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        """Return exact samples ``(batch, count, *event)`` and the log-partition ``(batch,)``.

        The last argument is the count. Samples are -1 if there is no structure.
        """
        return call(self._sample, *arguments)  # type: ignore[no-any-return]

    def entropy(self, *arguments: Any) -> Tensor:
        """Return the entropy ``(batch,)`` in nats, differentiable."""
        return self.reference.entropy(*arguments)

    def cross_entropy(self, scores: Scores, other: Scores, *rest: Any) -> Tensor:
        """Return the cross-entropy ``(batch,)`` in nats: -E[log q]; a constant for items where it is infinite.

        Args:
            scores: The score tensors of this distribution.
            other: Those of q, in the same shapes.
            rest: ``(lengths, *constants, *options)``, which both have in common.
        """
        return constant_at_infinity(self.reference.cross_entropy(scores, other, *rest))

    def kernel(self, oracle: str, *arguments: Any) -> Callable[..., Any] | None:
        """Return the backend's function ``oracle``, not an operator, such as "sparsemap"; None if it has none.

        On a detour through the CPU, the function is that of the CPU's kernels, called on copies of the tensors.
        """
        kernel = getattr(dispatch.select(self.name, *arguments), oracle, None)
        if kernel is None and detour.is_taken(self.name, oracle, *arguments):
            return functools.partial(detour.on_cpu, getattr(dispatch.kernels(self.name, "cpu"), oracle))
        return kernel

    def has_gpu_kernel(self, oracle: str, *arguments: Any) -> bool:
        """Return True if GPU kernels compute the operator ``oracle`` for these scores on their own device."""
        return detour.has_gpu_kernel(self.name, oracle, *arguments)

    # The operators, and their versions by the reference.

    def _operator(self, oracle: str, schema: str, fake: Callable[..., Any]) -> Any:
        """Return the operator that calls the backend's kernel, or else the reference.

        The reference is a ``_reference_`` method of the oracles, or the method of `reference` with this name.
        """
        declined = self._declines().get(oracle)
        charted = self._with_fitting_chart if oracle in ("outside", "derivative") else None
        reference = getattr(self, f"_reference_{oracle}", None) or getattr(self.reference, oracle)
        return operator(self.name, oracle, schema, reference, fake, declined, charted)

    def _with_fitting_chart(self, backend: Any, *arguments: Any) -> tuple[Any, ...]:
        """Return the arguments with the backend's own chart as the last one, made now if they have another's.

        Which backend supports scores may depend on the size of the batch, which `torch.func.vmap` changes between
        the forward and the backward pass.
        """
        inputs, chart = arguments[: self._arity], arguments[-1]
        if tuple(chart.shape) == tuple(backend.chart_shape(*inputs)):
            return arguments
        return *arguments[:-1], self.inside(*inputs)[1]

    def _declines(self) -> dict[str, Callable[..., bool]]:
        """Return, by operator, the test that is True if a backend must leave the call to the reference."""
        return {"inside": self._beyond, "outside": self._lacks_chart, "derivative": self._lacks_chart}

    def _beyond(self, backend: Any, *arguments: Any) -> bool:
        """Return True if scores are too large for the backend; see `strukt.kernels.magnitude`.

        A backend with ``any_scores`` computes scores of any size.
        """
        inputs = arguments[: self._arity]
        if getattr(backend, "any_scores", False):
            return False
        return beyond(inputs[: self._count], lambda: backend.inside(*inputs)[0])

    def _lacks_chart(self, backend: Any, *arguments: Any) -> bool:
        """Return True if the reference computed the inside pass: the chart, the last argument, is empty or NaN.

        A backend may itself leave NaN in the first entry of a chart, for short items: then the size of the scores
        decides.
        """
        chart = arguments[-1]
        if getattr(backend, "any_scores", False) or not chart.numel():
            return not chart.numel()
        return isnan(chart.numpy().item(0)) and self._beyond(backend, *arguments)

    def _reference_inside(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        """Return the log-partition and a chart of NaN, which tells `_lacks_chart` that it is the reference's."""
        with torch.no_grad():
            log_partition = self.reference.log_partition(*arguments)
        return log_partition, self._fake_inside(*arguments)[1].fill_(torch.nan)

    def _reference_outside(self, *arguments: Any) -> Tensor | Scores:
        """Return the marginals times weights as gradients of the reference's log-partition."""
        *arguments_, weights, _ = arguments
        scores, rest = arguments_[: self._count], arguments_[self._count :]
        (result,) = pull_backs(self.reference.log_partition, tuple(scores), rest, [weights])
        return alone(owned(result))

    def _reference_derivative(self, *arguments: Any) -> Scores:
        return owned(differentiated(self._outside_derivative, arguments))

    # Shapes, for tracing.

    def _fake_inside(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        main = arguments[0]
        on_detour = detour.is_taken(self.name, "inside", *arguments)
        backend = dispatch.kernels(self.name, "cpu") if on_detour else dispatch.select(self.name, *arguments)
        if not hasattr(backend, "inside"):
            return main.new_empty(len(main)), main.new_empty(len(main), 0)
        device = "cpu" if on_detour else main.device
        chart = main.new_empty(backend.chart_shape(*arguments), dtype=torch.float64, device=device)
        return main.new_empty(len(main)), chart

    def _fake_outside(self, *arguments: Any) -> Tensor | Scores:
        return alone(tuple(score.new_empty(score.shape) for score in arguments[: self._count]))

    def _fake_derivative(self, *arguments: Any) -> Scores:
        inputs = (*arguments[: self._count], arguments[-self._count - 2])
        return tuple(value.new_empty(value.shape) for value in inputs)

    def _event_shape(self, main: Tensor) -> Sequence[int]:
        """Return the shape of an event, the first part axes of the main scores."""
        return main.shape[1 : 1 + self.event_dim]

    def _fake_best(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        main = arguments[0]
        shape = (len(main), *self._event_shape(main))
        return main.new_empty(shape, dtype=torch.int64), main.new_empty(len(main))

    def _fake_kbest(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        events, _ = self._fake_sample(*arguments)
        return events, arguments[0].new_empty(events.shape[:2])

    def _fake_sample(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        main, number = arguments[0], arguments[-1]
        shape = (len(main), number, *self._event_shape(main))
        events = main.new_empty(shape, dtype=torch.int64)
        return events, main.new_empty(len(main))

    def _outside_derivative(self, *arguments: Any) -> Scores:
        """Return gradients of <outside, directions> with respect to scores and weights, through the reference.

        The arguments are those of the method, the weights, a direction for each tensor of scores, and the chart.
        """
        *inputs, _ = arguments
        inputs, directions = inputs[: -self._count], tuple(inputs[-self._count :])
        *inputs, weights = inputs
        scores, rest = tuple(inputs[: self._count]), inputs[self._count :]
        return outside_derivative(self.reference.log_partition, scores, rest, weights, directions)
