"""Members of PyTorch's distributions that structures do not support; each raises an error with an alternative."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor
from torch.distributions import Distribution


class NominalEvents(Distribution):
    """A base class for nominal events, such as tags: without a mean, an order, or a gradient in the scores."""

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Raise an error, whatever ``sample_shape`` is: structures are discrete, so that samples have no gradient.

        Raises:
            NotImplementedError: Always; the message names members that provide a gradient.
        """
        raise NotImplementedError(
            "structures are discrete, so that a sample has no gradient with respect to the scores; use "
            "rsample_relaxed(temperature) for relaxed parts, rsample_implicit() or mode_parts() for 0/1 parts "
            "with a surrogate gradient, or sample() and log_prob() for the score-function estimator"
        )

    @property
    def mean(self) -> Tensor:
        """Raise an error: events consist of indices, such as those of tags, and have no mean.

        Raises:
            NotImplementedError: Always; the mean of the parts is `marginals`.
        """
        raise NotImplementedError("events have no mean; that of their 0/1 parts is `marginals`")

    @property
    def variance(self) -> Tensor:
        """Raise an error: events consist of indices, such as those of tags, and have no variance.

        Raises:
            NotImplementedError: Always; the message gives the variance of the parts.
        """
        raise NotImplementedError(
            "events have no variance; that of their 0/1 parts is `marginals * (1 - marginals)`"
        )

    def cdf(self, value: Tensor) -> Tensor:
        """Raise an error, whatever ``value`` is: structures have no order.

        Raises:
            NotImplementedError: Always; the message names `log_prob`.
        """
        raise NotImplementedError("structures have no order, and thus no cdf; log_prob(event) is for one event")

    def icdf(self, value: Tensor) -> Tensor:
        """Raise an error, whatever ``value`` is: structures have no order.

        Raises:
            NotImplementedError: Always; the message names `topk`.
        """
        raise NotImplementedError("structures have no order, and thus no quantiles; topk(k) has the best ones")
