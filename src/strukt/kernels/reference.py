"""The interface of references: the functions in PyTorch from which `strukt.kernels.oracles` makes operators."""

from __future__ import annotations

from typing import Any, Protocol

from torch import Tensor

from strukt.kernels.autograd import Scores


class Reference(Protocol):
    """The functions that the reference of a structure implements, in PyTorch, on any device.

    ``scores`` are the tensors of part scores, the main one first, each with one batch axis in front. ``options``
    are the structure's other arguments: integer tensors ``(batch, ...)`` if it has any, then numbers and Booleans.

    ``*scores_lengths_options`` are the scores, the lengths ``(batch,)`` and the options; ``*lengths_options`` are
    the last two. ``*scores_lengths_options_k`` end with the number k of structures, and
    ``*scores_lengths_options_count`` with the number of samples.
    """

    def log_partition(self, *scores_lengths_options: Any) -> Tensor:
        """Return the log-partition ``(batch,)``, differentiable any number of times."""

    def best(self, *scores_lengths_options: Any) -> tuple[Tensor, Tensor]:
        """Return a best event ``(batch, *event)`` and its score ``(batch,)``; -1 and -inf if there is none."""

    def kbest(self, *scores_lengths_options_k: Any) -> tuple[Tensor, Tensor]:
        """Return events ``(batch, k, *event)`` and scores ``(batch, k)``, descending; padded with -1 and -inf."""

    def sample(self, *scores_lengths_options_count: Any) -> tuple[Tensor, Tensor]:
        """Return independent exact samples ``(batch, count, *event)``, and the log-partition ``(batch,)``.

        Samples are -1 if there is no structure.
        """

    def entropy(self, *scores_lengths_options: Any) -> Tensor:
        """Return the entropy ``(batch,)`` in nats, differentiable any number of times."""

    def cross_entropy(self, scores: Scores, other: Scores, *lengths_options: Any) -> Tensor:
        """Return the cross-entropy ``(batch,)`` in nats: -E[log q], q the distribution of the scores ``other``."""
