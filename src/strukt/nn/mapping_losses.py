"""Losses of sparse mappings as modules, to replace `torch.nn.CrossEntropyLoss`."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn
from typing_extensions import Unpack

from strukt import losses


class _Loss(nn.Module):
    """A loss over classes or points with fixed settings; each setting is an attribute."""

    def __init__(self, loss: Callable[..., Tensor], options: losses.Options, **settings: float) -> None:
        super().__init__()
        self._loss = loss
        self._names = tuple(settings)
        self.options = options
        for name, value in settings.items():
            setattr(self, name, value)

    @property
    def settings(self) -> dict[str, float]:
        """The arguments of the loss function other than its options."""
        return {name: getattr(self, name) for name in self._names}

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        """Return the loss, a scalar, or with ``reduction="none"`` the loss of each example.

        Args:
            x: Scores, of any shape.
            target: Classes in the shape of ``x`` without ``dim``, or points in the shape of ``x``; see the
                function of `strukt.losses` that the class names.

        Raises:
            ValueError: As for that function.
            TypeError: If an option is unknown.
        """
        return self._loss(x, target, **self.settings, **self.options)

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in {**self.settings, **self.options}.items())


class EntmaxLoss(_Loss):
    """The loss of `Entmax`, a replacement for cross-entropy: `strukt.losses.entmax_loss` as a module.

    Args:
        alpha: The exponent of `strukt.mappings.entmax`, above 0; checked in each call.
        options: ``dim``, ``mask``, ``reduction``, ``ignore_index``, ``label_smoothing`` and ``validate_args``; see
            `strukt.losses.Options`.

    Examples:
        >>> import torch
        >>> EntmaxLoss(2.0, reduction="sum")(torch.tensor([[0.0, 0.0]]), torch.tensor([1]))
        tensor(0.2500)
    """

    alpha: float

    def __init__(self, alpha: float = 1.5, **options: Unpack[losses.Options]) -> None:
        super().__init__(losses.entmax_loss, options, alpha=alpha)


class SparsemaxLoss(EntmaxLoss):
    """The sparsemax loss (Martins and Astudillo 2016): `EntmaxLoss` with alpha = 2.

    Args:
        options: ``dim``, ``mask``, ``reduction``, ``ignore_index``, ``label_smoothing`` and ``validate_args``; see
            `strukt.losses.Options`.

    Examples:
        >>> import torch
        >>> loss = SparsemaxLoss(reduction="none")  # 0 if the target exceeds all other scores by 1
        >>> loss(torch.tensor([[1.0, 0.8, 0.1], [1.0, 2.0, 0.1]]), torch.tensor([1, 1]))
        tensor([0.3600, 0.0000])
    """

    def __init__(self, **options: Unpack[losses.Options]) -> None:
        super().__init__(2.0, **options)


class Entmax15Loss(EntmaxLoss):
    """The 1.5-entmax loss (Peters, Niculae and Martins 2019): `EntmaxLoss` with alpha = 1.5.

    Args:
        options: ``dim``, ``mask``, ``reduction``, ``ignore_index``, ``label_smoothing`` and ``validate_args``; see
            `strukt.losses.Options`.

    Examples:
        >>> import torch
        >>> loss = Entmax15Loss(reduction="none")  # 0 if the target exceeds all other scores by 2
        >>> loss(torch.tensor([[1.0, 0.8, 0.1], [1.0, 3.0, 0.1]]), torch.tensor([1, 1]))
        tensor([0.5140, 0.0000])
    """

    def __init__(self, **options: Unpack[losses.Options]) -> None:
        super().__init__(1.5, **options)


class NormmaxLoss(_Loss):
    """The loss of `Normmax`: `strukt.losses.normmax_loss` as a module.

    Args:
        alpha: The exponent of the norm, above 1 and finite; checked in each call.
        options: ``dim``, ``mask``, ``reduction``, ``ignore_index``, ``label_smoothing`` and ``validate_args``; see
            `strukt.losses.Options`.

    Examples:
        >>> import torch
        >>> NormmaxLoss()(torch.tensor([[3.0, 1.0]]), torch.tensor([0]))
        tensor(0.)
    """

    alpha: float

    def __init__(self, alpha: float = 2.0, **options: Unpack[losses.Options]) -> None:
        super().__init__(losses.normmax_loss, options, alpha=alpha)


class FusedmaxLoss(_Loss):
    """The loss of `Fusedmax`: `strukt.losses.fusedmax_loss` as a module.

    Args:
        weight: The weight of the penalty, 0 or more and finite; checked in each call.
        options: ``dim``, ``mask``, ``reduction``, ``ignore_index``, ``label_smoothing`` and ``validate_args``; see
            `strukt.losses.Options`.

    Examples:
        >>> import torch
        >>> FusedmaxLoss(weight=0.1)(torch.tensor([[1.0, 0.9, 0.2]]), torch.tensor([[0.5, 0.5, 0.0]]))
        tensor(0.)
    """

    weight: float

    def __init__(self, weight: float = 1.0, **options: Unpack[losses.Options]) -> None:
        super().__init__(losses.fusedmax_loss, options, weight=weight)


class OscarmaxLoss(_Loss):
    """The loss of `Oscarmax`: `strukt.losses.oscarmax_loss` as a module.

    Args:
        weight: The weight of the penalty, 0 or more and finite; checked in each call.
        options: ``dim``, ``mask``, ``reduction``, ``ignore_index``, ``label_smoothing`` and ``validate_args``; see
            `strukt.losses.Options`.

    Examples:
        >>> import torch
        >>> OscarmaxLoss(weight=0.1)(torch.tensor([[1.0, 0.2, 0.9]]), torch.tensor([[0.5, 0.0, 0.5]]))
        tensor(0.)
    """

    weight: float

    def __init__(self, weight: float = 1.0, **options: Unpack[losses.Options]) -> None:
        super().__init__(losses.oscarmax_loss, options, weight=weight)


class RelaxedSubsetLoss(_Loss):
    """The loss of `RelaxedSubset`, for exactly k items: `strukt.losses.ksubset_loss` as a module.

    Args:
        k: Number of items, 0 or more; checked in each call.
        options: ``dim``, ``mask``, ``reduction``, ``ignore_index``, ``label_smoothing`` and ``validate_args``; see
            `strukt.losses.Options`.

    Examples:
        >>> import torch
        >>> several = torch.tensor([[1.0, 0.0, 1.0]])
        >>> RelaxedSubsetLoss(2)(torch.tensor([[0.5, 0.5, 0.0]]), several)
        tensor(0.5833)
    """

    k: float

    def __init__(self, k: float, **options: Unpack[losses.Options]) -> None:
        super().__init__(losses.ksubset_loss, options, k=k)


class RelaxedBudgetLoss(_Loss):
    """The loss of `RelaxedBudget`, for at most k items: `strukt.losses.budget_loss` as a module.

    Args:
        k: Maximum number of items, 0 or more; checked in each call.
        options: ``dim``, ``mask``, ``reduction``, ``ignore_index``, ``label_smoothing`` and ``validate_args``; see
            `strukt.losses.Options`.

    Examples:
        >>> import torch
        >>> one = torch.tensor([[1.0, 0.0, 0.0]])
        >>> RelaxedBudgetLoss(2)(torch.tensor([[2.0, 0.0, -1.0]]), one)  # fewer than 2 items may be chosen
        tensor(0.)
    """

    k: float

    def __init__(self, k: float, **options: Unpack[losses.Options]) -> None:
        super().__init__(losses.budget_loss, options, k=k)
