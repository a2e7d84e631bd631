"""Perturb-and-MAP: the mode, or relaxed modes, of scores with Gumbel noise.

The mode of randomly perturbed scores is a cheap approximate sample (Papandreou and Yuille 2011). The marginals of
the same scores at a temperature are a relaxed sample, through which gradients pass (stochastic softmax tricks,
Paulus et al. 2020). `strukt.inference.surrogate_gradients` has gradients of the mode itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from strukt.checks.guards import LARGEST

COLDEST = 1e-9
"""Lower temperatures count as this one: at 0 scores would become infinite, and below -1e15 they forbid parts."""


def gumbel_noise(scores: Tensor) -> Tensor:
    """Return independent standard Gumbel noise in the shape of ``scores``."""
    return -torch.empty_like(scores).exponential_().log()


def perturbed(scores: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Return the scores of a structure, of which the main ones come first, with Gumbel noise on the main ones."""
    main, *others = scores
    return main + gumbel_noise(main), *others


def at_temperature(scores: Iterable[Tensor], temperature: float) -> tuple[Tensor, ...]:
    """Return the scores of a structure divided by a temperature, or by `COLDEST` if that is higher.

    As it goes to 0, the marginals become the parts of the mode. No finite score becomes one that forbids a part.

    Raises:
        ValueError: If the temperature is not positive and finite.
    """
    several = isinstance(temperature, Tensor) and temperature.numel() != 1
    if several or not 0 < temperature < torch.inf:
        raise ValueError(f"temperature is {temperature!r}; expected a number above 0, and finite")
    divisor = max(temperature, COLDEST)
    return tuple(
        torch.where(score < -LARGEST, score, (score / divisor).clamp(-LARGEST, LARGEST)) for score in scores
    )
