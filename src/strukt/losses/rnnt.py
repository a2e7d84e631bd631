"""The RNN-T (transducer) loss: transcripts with an unknown alignment to the frames, in torchaudio's interface."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from strukt.checks import arguments
from strukt.checks.lengths import Lengths
from strukt.kernels.autograd import is_transformed
from strukt.losses.transcripts import lengths_on, reduced, require_reduction
from strukt.structures.transducer.distribution import Transducer
from strukt.structures.transducer.emissions import labels_of_nodes
from strukt.structures.transducer.softmax import log_prob_moves


def rnnt_loss(
    logits: Tensor,
    targets: Tensor,
    logit_lengths: Lengths,
    target_lengths: Lengths,
    blank: int = -1,
    clamp: float = -1,
    reduction: str = "mean",
    fused_log_softmax: bool = True,
    validate_args: bool | None = None,
) -> Tensor:
    """Return the loss -log p(target) of a transducer (RNN-T), like ``torchaudio.functional.rnnt_loss``.

    The softmax is part of the loss, so that no other tensor of the size of the logits is stored, except their
    gradient. Padding is ignored.

    Args:
        logits: ``(B, T, U + 1, V)``, the output of the joint network for B items, T frames, targets of up to U
            labels, and V labels including the blank.
        targets: ``(B, U)``, labels other than the blank, with any padding.
        logit_lengths: ``(B,)``, the number of frames of each item.
        target_lengths: ``(B,)``, the number of labels of each target.
        blank: The blank label, which moves on to the next frame; counted from the end if negative.
        clamp: Clip the gradient of each item's loss with respect to the logits to ``[-clamp, clamp]``; 0 or less
            for no clipping. With clipping there are no second derivatives, no forward mode and no ``torch.func``.
        reduction: ``"none"`` for the losses ``(B,)`` of all items, or their ``"sum"`` or ``"mean"``.
        fused_log_softmax: Whether to apply ``log_softmax`` to the logits; False if they are log-probabilities
            already.
        validate_args: Whether to check values as well as shapes, which waits for a GPU; on by default. Even
            without these checks, the softmax waits for the lengths.

    Returns:
        A number; with ``reduction="none"``, ``(B,)``. Infinite for an item with labels but no frames.

    Raises:
        ValueError: If shapes or types do not fit, a length or a label is out of range, a score is NaN or +inf, or
            the reduction is unknown.
        NotImplementedError: If gradients are to be clipped under ``torch.func`` or in forward mode.

    Complexity:
        Time O(T U V) per item.

    Source:
        Graves (2012), "Sequence transduction with recurrent neural networks", section 2.4.

    Examples:
        >>> logits = torch.zeros(1, 2, 2, 3)
        >>> loss = rnnt_loss(logits, torch.tensor([[1]]), torch.tensor([2]), torch.tensor([1]))
        >>> (-loss).exp()  # 2 paths of 3 moves
        tensor(0.0741)
    """
    require_reduction(reduction)
    arguments.scores("logits", logits, "(B, T, U + 1, V)", 4)
    if logits.dim() != 4 or not logits.shape[2]:
        raise ValueError(
            f"logits has shape {tuple(logits.shape)}; expected (B, T, U + 1, V): a score of each label at each "
            "frame, after each number of labels"
        )
    batch, frames, columns, labels = logits.shape
    lengths = lengths_on(logits.device, "logit_lengths", logit_lengths, batch, frames, validate_args)
    counts = lengths_on(logits.device, "target_lengths", target_lengths, batch, columns - 1, validate_args)
    blank = blank + labels if isinstance(blank, int) and -labels <= blank < 0 else blank
    named = labels_of_nodes(logits.shape, logits.device, targets, counts, blank, validate_args)

    def losses_of(logits: Tensor) -> Tensor:
        if fused_log_softmax:
            moves = log_prob_moves(logits, named, lengths, counts)
        else:
            moves = logits.gather(-1, named.unsqueeze(1).expand(*logits.shape[:-1], 2))
        return -_OfLogits(moves, lengths, counts, validate_args).log_partition

    losses = _with_bounded_gradient(losses_of, logits, clamp) if clamp > 0 else losses_of(logits)
    return reduced(losses, reduction)


class _OfLogits(Transducer):
    """The distribution with a name for its scores that refers to the argument of the loss, for error messages."""

    score_names: ClassVar[tuple[str, ...]] = ("logits, as log-probabilities of moves,",)


def _with_bounded_gradient(losses_of: Callable[[Tensor], Tensor], logits: Tensor, bound: float) -> Tensor:
    """Return the losses ``(batch,)``, with gradients that are clipped before a reduction scales them."""
    if not torch.compiler.is_compiling() and is_transformed(logits):
        raise NotImplementedError(
            "clamp clips gradients only in reverse mode, not under torch.func or in forward mode; leave it out, "
            "and clip the gradients that torch.func returns"
        )
    with torch.enable_grad():
        leaf = logits.detach().requires_grad_()
        losses = losses_of(leaf)
        (gradient,) = torch.autograd.grad(losses.sum(), leaf)
    bounded = gradient.clamp_(-bound, bound)
    return _WithGradient.apply(logits, losses.detach(), bounded)  # type: ignore[no-any-return, no-untyped-call]


class _WithGradient(Function):
    """Autograd function of losses ``(batch,)`` with a precomputed gradient."""

    @staticmethod
    def forward(ctx: Any, _logits: Tensor, losses: Tensor, gradient: Tensor) -> Tensor:
        ctx.save_for_backward(gradient)
        return losses.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, factors: Tensor) -> Any:
        (gradient,) = ctx.saved_tensors
        return gradient * factors[:, None, None, None].to(gradient.dtype), None, None
