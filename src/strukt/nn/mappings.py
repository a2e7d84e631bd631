"""Sparse mappings as modules, to replace `torch.nn.Softmax`."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from strukt import mappings


class Entmax(nn.Module):
    """Entmax, a sparse softmax for alpha above 1: `strukt.mappings.entmax` with a fixed or learned alpha.

    Args:
        alpha: A number above 0; the initial value of a learned alpha must be above 1. A tensor is used
            directly, so that it receives a gradient, and an ``nn.Parameter`` becomes a parameter of the module.
            Other tensors stay on their device when the module is moved.
        dim: The axis of the probabilities.
        learn: Whether alpha is a parameter, which starts from the number `alpha` and stays above 1.
        shape: Shape of a learned alpha, which broadcasts to the scores and has size 1 along ``dim``:
            ``(heads, 1, 1)`` learns an alpha for each attention head (Correia, Niculae and Martins 2019). By
            default, there is one alpha.

    Raises:
        ValueError: If a number alpha is not finite and above 0, or is learned and not above 1; or if alpha is a
            tensor, and `learn` or `shape` is given. A tensor's values are checked in each call.

    Examples:
        >>> heads = Entmax(1.5, learn=True, shape=(2, 1, 1))
        >>> heads(torch.zeros(3, 2, 4, 4)).sum(-1).shape, heads.alpha.flatten()
        (torch.Size([3, 2, 4]), tensor([1.5000, 1.5000], grad_fn=<ViewBackward0>))
    """

    given: Tensor | None

    def __init__(
        self, alpha: float | Tensor = 1.5, dim: int = -1, learn: bool = False, shape: tuple[int, ...] = ()
    ) -> None:
        super().__init__()
        self.dim = dim
        if isinstance(alpha, Tensor):
            if learn or shape:
                raise ValueError(
                    "alpha is a tensor, which has its own shape and derivative; leave out learn and shape, and "
                    "pass an nn.Parameter to learn it"
                )
            self.given = alpha
            return
        if not learn:
            if not isinstance(alpha, (int, float)) or not 0.0 < alpha < math.inf:
                raise ValueError(f"alpha is {alpha!r}; expected a finite number above 0 (1 is softmax)")
            self.register_buffer("given", torch.full(shape, float(alpha)), persistent=False)
            return
        if not isinstance(alpha, (int, float)) or not 1.0 < alpha < math.inf:
            raise ValueError(
                f"alpha is {alpha!r}; expected more than 1, and finite, as a learned alpha stays above 1; "
                "leave out learn, or pass an nn.Parameter that you keep above 0 yourself"
            )
        self.given = None
        self.raw = nn.Parameter(torch.full(shape, alpha - 1.0 + math.log(-math.expm1(1.0 - alpha))))

    def extra_repr(self) -> str:
        alpha = self.alpha.detach()
        each = f"{alpha.item():.4g}" if alpha.numel() == 1 and not alpha.is_meta else tuple(alpha.shape)
        return f"alpha={each}, dim={self.dim}" + (", learned" if self.given is None else "")

    @property
    def alpha(self) -> Tensor:
        """Alpha as a tensor: the argument, or 1 + softplus of the learned parameter."""
        if self.given is not None:
            return self.given
        return 1.0 + nn.functional.softplus(self.raw)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return probabilities in the shape of ``x``; ``mask`` and errors are as in `strukt.mappings.entmax`."""
        return mappings.entmax(x, self.alpha, self.dim, mask)


class _Mapping(nn.Module):
    """A mapping along an axis, with fixed settings."""

    def __init__(self, mapping: Callable[..., Tensor], dim: int, **settings: float) -> None:
        super().__init__()
        self._mapping = mapping
        self.dim = dim
        self.settings = settings

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the mapped scores in the shape of ``x``; a score counts as -inf if ``mask`` is False.

        The mask is Boolean and broadcasts to ``x``.

        Raises:
            ValueError: As for the function of `strukt.mappings` that the class names.
        """
        return self._mapping(x, dim=self.dim, mask=mask, **self.settings)

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in {**self.settings, "dim": self.dim}.items())


class Sparsemax(_Mapping):
    """Sparsemax, a sparse softmax: `strukt.mappings.sparsemax` as a module, along the axis `dim`.

    Examples:
        >>> Sparsemax()(torch.tensor([1.0, 0.8, 0.1]))
        tensor([0.6000, 0.4000, 0.0000])
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__(mappings.sparsemax, dim)


class Entmax15(_Mapping):
    """Entmax with alpha = 1.5: `strukt.mappings.entmax15` as a module, along the axis `dim`.

    Examples:
        >>> Entmax15()(torch.tensor([1.0, 0.8, 0.1]))
        tensor([0.5292, 0.3937, 0.0770])
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__(mappings.entmax15, dim)


class Normmax(_Mapping):
    """Normmax, a sparse softmax: `strukt.mappings.normmax` as a module.

    Args:
        alpha: The exponent of the norm, above 1 and finite; checked in each call.
        dim: The axis of the probabilities.

    Examples:
        >>> Normmax(alpha=2.0)(torch.tensor([1.0, 0.8, 0.1]))
        tensor([0.5714, 0.4286, 0.0000])
    """

    def __init__(self, alpha: float = 2.0, dim: int = -1) -> None:
        super().__init__(mappings.normmax, dim, alpha=alpha)


class Fusedmax(_Mapping):
    """Sparsemax in which neighbours share probabilities: `strukt.mappings.fusedmax` as a module.

    Args:
        weight: The weight of the penalty, 0 or more and finite; checked in each call. The more weight, the more
            neighbours share a probability.
        dim: The axis of the probabilities.

    Examples:
        >>> Fusedmax(weight=0.1)(torch.tensor([1.0, 0.9, 0.2]))
        tensor([0.5000, 0.5000, 0.0000])
    """

    def __init__(self, weight: float = 1.0, dim: int = -1) -> None:
        super().__init__(mappings.fusedmax, dim, weight=weight)


class Oscarmax(_Mapping):
    """Sparsemax in which close scores share probabilities: `strukt.mappings.oscarmax` as a module.

    Args:
        weight: The weight of the penalty, 0 or more and finite; checked in each call. The more weight, the more
            entries share a probability.
        dim: The axis of the probabilities.

    Examples:
        >>> Oscarmax(weight=0.1)(torch.tensor([1.0, 0.2, 0.9]))
        tensor([0.5000, 0.0000, 0.5000])
    """

    def __init__(self, weight: float = 1.0, dim: int = -1) -> None:
        super().__init__(mappings.oscarmax, dim, weight=weight)


class RelaxedSubset(_Mapping):
    """A relaxed subset of k items, weights from 0 to 1 with sum k: `strukt.mappings.ksubset` as a module.

    Args:
        k: Number of items, 0 or more, which need not be a whole number; checked in each call. If there are fewer
            than k items, all weights are 1.
        dim: The axis of the items.

    Examples:
        >>> RelaxedSubset(2)(torch.tensor([0.5, 0.4, -0.6, -0.1]))
        tensor([0.9000, 0.8000, 0.0000, 0.3000])
    """

    def __init__(self, k: float, dim: int = -1) -> None:
        super().__init__(mappings.ksubset, dim, k=k)


class RelaxedBudget(_Mapping):
    """A relaxed subset of at most k items, weights from 0 to 1: `strukt.mappings.budget` as a module.

    Args:
        k: Maximum number of items, 0 or more, which need not be a whole number; checked in each call.
        dim: The axis of the items.

    Examples:
        >>> RelaxedBudget(2)(torch.tensor([0.5, 0.4, -0.6, -0.1]))
        tensor([0.5000, 0.4000, 0.0000, 0.0000])
    """

    def __init__(self, k: float, dim: int = -1) -> None:
        super().__init__(mappings.budget, dim, k=k)
