"""Hidden Markov models whose states are distributed over processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch import distributed as dist

from strukt.checks.lengths import Lengths
from strukt.kernels.semiring import NEG_INF, finite
from strukt.structures.hmm.emissions.base import Emission
from strukt.structures.hmm.forward_backward import log_evidence
from strukt.structures.hmm.logits import softmax
from strukt.structures.hmm.parameters import HMMParameters
from strukt.structures.hmm.transitions import LowRank

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup


class ShardedHMM(HMMParameters):
    """A low-rank hidden Markov model with more states than one process can hold: each process holds some of them.

    All processes of the group must construct the model together and call it with the same sentences. Their numbers
    of states may differ. With r features, a step all-reduces r + 1 numbers for each sentence, in the forward and
    in the backward pass.

    Args:
        initial: ``(z_p,)``, logits of the first state, for the z_p states of this process.
        transition: A `LowRank` of the log-features ``(z_p, r)`` of these states, without a band.
        emission: Logits ``(z_p, v)`` of v words in these states, or an `Emission`.
        group: The processes; all if None.
        checkpoint: Whether the gradient of `log_prob` stores O(sqrt(n)) messages instead of all n, at the cost of
            one more forward pass.
        storage: The type in which `log_prob` stores the transition matrix, such as ``torch.bfloat16``; None for
            that of the logits.
        validate_args: Whether to check values as well as shapes; if None, see `strukt.set_default_validate_args`.

    Each process gets the gradients of its own arguments. Parameters that processes share, such as the vectors of
    words in `Embedded`, get a part of their gradient in each process: sum it over the processes.

    Raises:
        ValueError: If shapes, types or values do not fit, or no process group is initialised.

    Examples:
        >>> from strukt import LowRank
        >>> store = torch.distributed.HashStore()
        >>> torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
        >>> transition = LowRank(torch.zeros(4, 2), torch.zeros(4, 2))
        >>> ShardedHMM(torch.zeros(4), transition, torch.zeros(4, 10)).log_prob(torch.tensor([1, 2])).exp()
        tensor(0.0100)
        >>> torch.distributed.destroy_process_group()
    """

    transition: LowRank

    def __init__(
        self,
        initial: Tensor,
        transition: LowRank,
        emission: Tensor | Emission,
        group: ProcessGroup | None = None,
        checkpoint: bool = False,
        storage: torch.dtype | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(transition, LowRank):
            raise ValueError(
                f"transition is a {type(transition).__name__}; expected LowRank(source, target), the log-features "
                "of the states of this process"
            )
        if transition.band is not None:
            raise ValueError(
                "transition has a band, which would cross processes; expected LowRank without one"
            )
        if not dist.is_initialized():
            raise ValueError(
                "there is no group of processes; call torch.distributed.init_process_group first"
            )
        super().__init__(initial, transition, emission, checkpoint, storage, validate_args)
        self.group = dist.group.WORLD if group is None else group

    def log_prob(self, x: Tensor, lengths: Lengths | None = None) -> Tensor:
        """Return the log-probability of sentences given their lengths, ``(*)``, equal in all processes.

        Differentiable once. It is -inf for impossible sentences, and for those in which a scale of the forward
        algorithm underflows in the type of the parameters.

        Args:
            x: ``(*, n)``, words, or other observations ``(*, n, *event)``.
            lengths: ``(*)``; all n if None.

        Raises:
            ValueError: If shapes or types do not fit, or an observation is invalid.
        """
        seen = self._observed(x, lengths)
        beginning = self._normalised(self.initial.unsqueeze(1)).squeeze(1).expand(len(seen.rows), -1)
        model = (beginning, seen.table, self._factors())
        evidence, _ = log_evidence(
            seen.rows,
            seen.lengths,
            *model,
            checkpoint=self.checkpoint,
            storage=self.storage,
            group=self.group,
        )
        return evidence.to(self.initial.dtype).reshape(seen.shape)

    def _factors(self) -> tuple[Tensor, Tensor]:
        """Return the factors of `LowRank` with one more feature: ``(z_p, r + 1)`` and ``(r + 1, z_p)``.

        The last feature of a message is the sum over the states of all processes.
        """
        source, target = self.transition.source, self.transition.target
        leaving = softmax(source + self._log_total(target), 1)
        landing = self._normalised(target)
        first = torch.cat([leaving, torch.ones_like(leaving[:, :1])], 1)
        last = torch.cat([landing, torch.zeros_like(landing[:, :1])], 1)
        return first, last.mT

    def _normalised(self, logits: Tensor) -> Tensor:
        """Return the softmax of logits ``(z_p, k)`` over the states of all processes: ``(z_p, k)``."""
        total = self._log_total(logits)
        return (logits - finite(total)).exp()

    def _log_total(self, logits: Tensor) -> Tensor:
        """Return the log of the summed exponentials over the states of all processes: ``(k,)``."""
        top = logits.detach().amax(0)
        dist.all_reduce(top, dist.ReduceOp.MAX, self.group)
        possible = top > NEG_INF
        weights = (logits - torch.where(possible, top, 0.0)).exp()
        total = _Sum.apply(weights.sum(0), self.group)  # type: ignore[no-untyped-call]
        return torch.where(possible, torch.where(possible, total, 1.0).log() + top, NEG_INF)


class _Sum(torch.autograd.Function):
    """Autograd function of the sum over processes; all of them use the sum, so its gradient is summed, too."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: ProcessGroup) -> Tensor:
        ctx.group = group
        total = x.clone()
        dist.all_reduce(total, group=group)
        return total

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        total = grad.contiguous().clone()
        dist.all_reduce(total, group=ctx.group)
        return total, None
