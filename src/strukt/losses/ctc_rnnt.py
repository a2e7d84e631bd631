"""CTC and RNN-T losses: transcripts with an unknown alignment to the frames, with the arguments of PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from strukt.checks import arguments
from strukt.checks.lengths import Lengths, as_tensor
from strukt.structures.ctc.distribution import CTC
from strukt.structures.transducer.distribution import Transducer
from strukt.structures.transducer.emissions import labels_of_nodes
from strukt.structures.transducer.softmax import log_prob_moves

REDUCTIONS = ("none", "mean", "sum")


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Lengths,
    target_lengths: Lengths,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Return the CTC loss -log p(target), like ``torch.nn.functional.ctc_loss``, with derivatives of any order.

    The gradient with respect to ``log_probs`` is minus the probability of each label at each frame, given the
    target. PyTorch adds ``exp(log_probs)``, which is only right for the input of ``log_softmax``: there, both
    gradients agree. A target too long for its frames has gradient 0 here and NaN in PyTorch.

    Args:
        log_probs: Output of ``log_softmax``, ``(T, N, C)`` for T frames, N items and C labels including the blank;
            ``(T, C)`` for a single item.
        targets: Labels other than the blank: ``(N, S)`` with any padding, or concatenated as
            ``(sum of target_lengths,)``; ``(S,)`` for a single item.
        input_lengths: ``(N,)``, the number of frames of each item; a number or ``(1,)`` for a single item.
        target_lengths: ``(N,)``, the number of labels of each target, 0 or more; likewise for a single item.
        blank: The blank label.
        reduction: ``"none"``, ``"sum"`` over the items, or ``"mean"`` over the items of the loss divided by the
            length of the target, at least 1.
        zero_infinity: Whether a target too long for its frames has loss 0 instead of infinity.

    Returns:
        A number; with ``reduction="none"``, ``(N,)`` unless there is a single item without a batch axis.

    Raises:
        ValueError: If shapes, types or values do not fit, or the reduction is unknown.

    Complexity:
        Time O(T (S + C)) for each item.

    Source:
        Graves et al. (2006), "Connectionist temporal classification", section 4.

    Examples:
        >>> log_probs = torch.zeros(4, 2, 3).log_softmax(-1)
        >>> targets = torch.tensor([[1, 2], [1, 1]])
        >>> ctc_loss(log_probs, targets, (4, 2), (2, 2), reduction="none")
        tensor([1.6864,    inf])
        >>> ctc_loss(log_probs, targets, (4, 2), (2, 2), zero_infinity=True)
        tensor(0.4216)
    """
    _require_reduction(reduction)
    arguments.scores("log_probs", log_probs, "(T, N, C) or (T, C)", 2)
    if log_probs.dim() > 3:
        raise ValueError(
            f"log_probs has shape {tuple(log_probs.shape)}; expected (T, N, C), or (T, C) for one item"
        )
    batched = log_probs.dim() == 3
    items = log_probs.transpose(0, 1) if batched else log_probs.unsqueeze(0)
    batch, frames, _ = items.shape
    lengths = _lengths("input_lengths", input_lengths, batch, frames, items.device, batched)
    target_lengths = _lengths("target_lengths", target_lengths, batch, None, items.device, batched)
    targets = _padded(targets, target_lengths, items.device, batched)
    losses = -CTC(items, targets, lengths, target_lengths, blank).log_partition
    if zero_infinity:
        losses = torch.where(losses == torch.inf, 0.0, losses)
    if reduction == "mean":
        losses = losses / target_lengths.clamp(min=1)
    return _reduced(losses if batched else losses.squeeze(0), reduction)


def rnnt_loss(
    logits: Tensor,
    targets: Tensor,
    logit_lengths: Lengths,
    target_lengths: Lengths,
    blank: int = -1,
    clamp: float = -1,
    reduction: str = "mean",
    fused_log_softmax: bool = True,
) -> Tensor:
    """Return the loss -log p(target) of a transducer (RNN-T), like ``torchaudio.functional.rnnt_loss``.

    The softmax is part of the loss, so that besides the logits only their gradient is stored. Padding is ignored.

    Args:
        logits: ``(B, T, U + 1, V)``: B items, T frames, U labels of the longest target, V labels with the blank;
            the output of the joint network.
        targets: ``(B, U)``, labels other than the blank, padded with anything.
        logit_lengths: ``(B,)``, frames of each item.
        target_lengths: ``(B,)``, labels of each target.
        blank: The blank label, which moves on to the next frame; counted from the end if negative.
        clamp: Clip the gradient of each item's loss with respect to the logits to ``[-clamp, clamp]``; not
            positive for no clipping. With clipping there are no second derivatives.
        reduction: ``"none"``: ``(B,)``. ``"sum"`` or ``"mean"`` over the items.
        fused_log_softmax: Whether to apply ``log_softmax`` to the logits; False if they are log-probabilities
            already.

    Raises:
        ValueError: If shapes, types or values do not fit, or there is no such reduction.

    Complexity:
        Time O(T U V) an item.

    Source:
        Graves (2012), "Sequence transduction with recurrent neural networks", section 2.4.

    Examples:
        >>> logits = torch.zeros(1, 2, 2, 3)
        >>> loss = rnnt_loss(logits, torch.tensor([[1]]), torch.tensor([2]), torch.tensor([1]))
        >>> (-loss).exp()  # 2 paths of 3 moves
        tensor(0.0741)
    """
    _require_reduction(reduction)
    arguments.scores("logits", logits, "(B, T, U + 1, V)", 4)
    if logits.dim() != 4 or not logits.shape[2]:
        raise ValueError(
            f"logits has shape {tuple(logits.shape)}; expected (B, T, U + 1, V): a score of each label at each "
            "frame, after each number of labels"
        )
    batch, frames, columns, labels = logits.shape
    lengths = _lengths("logit_lengths", logit_lengths, batch, frames, logits.device, batched=True)
    counts = _lengths("target_lengths", target_lengths, batch, columns - 1, logits.device, batched=True)
    blank = blank + labels if isinstance(blank, int) and -labels <= blank < 0 else blank
    named = labels_of_nodes(logits.shape, logits.device, targets, counts, blank)

    def losses_of(logits: Tensor) -> Tensor:
        if fused_log_softmax:
            moves = log_prob_moves(logits, named, lengths, counts)
        else:
            moves = logits.gather(-1, named.unsqueeze(1).expand(*logits.shape[:-1], 2))
        return -Transducer(moves, lengths, counts).log_partition

    losses = _with_bounded_gradient(losses_of, logits, clamp) if clamp > 0 else losses_of(logits)
    return _reduced(losses, reduction)


def _with_bounded_gradient(losses_of: Callable[[Tensor], Tensor], logits: Tensor, bound: float) -> Tensor:
    """Return the losses ``(batch,)``, with gradients that are clipped before a reduction scales them."""
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


def _require_reduction(reduction: str) -> None:
    if reduction not in REDUCTIONS:
        raise ValueError(f"reduction is {reduction!r}; expected 'none', 'mean' or 'sum'")


def _reduced(losses: Tensor, reduction: str) -> Tensor:
    if reduction == "none":
        return losses
    return losses.sum() if reduction == "sum" else losses.mean()


def _lengths(
    name: str, value: Lengths, batch: int, longest: int | None, device: torch.device, batched: bool
) -> Tensor:
    """Check lengths ``(batch,)``, at most ``longest`` if not None, and move them to a device.

    Without a batch axis (``batched`` is False), a plain number is one length.
    """
    tensor = as_tensor(value, name)
    if isinstance(tensor, Tensor):
        tensor = tensor.to(device)
        tensor = tensor if batched or tensor.dim() else tensor.unsqueeze(0)
        longest = int(tensor.max()) if longest is None and tensor.numel() else longest
    return arguments.lengths(tensor, torch.Size([batch]), max(longest or 0, 0), device, name)


def _padded(targets: Tensor, target_lengths: Tensor, device: torch.device, batched: bool) -> Tensor:
    """Return targets as rows ``(batch, S)``; concatenated ones are split and padded."""
    arguments.integers("targets", targets, "(N, S) or (sum of target_lengths,)", targets.device)
    targets = targets.to(device)
    if targets.dim() == 2 or not batched:
        batch, longest = len(target_lengths), int(target_lengths.max()) if len(target_lengths) else 0
        rows = targets if targets.dim() == 2 else targets.unsqueeze(0)
        if rows.dim() != 2 or len(rows) != batch or rows.shape[1] < longest:
            raise ValueError(
                f"targets has shape {tuple(targets.shape)}; expected (N, S) with N = {batch} items and S of at "
                f"least {longest}, the longest of target_lengths"
            )
        return rows
    total = int(target_lengths.sum())
    if targets.shape != (total,):
        raise ValueError(
            f"targets has shape {tuple(targets.shape)}; expected ({total},), the sum of target_lengths, or (N, S)"
        )
    parts = torch.split(targets, target_lengths.tolist())
    return torch.nn.utils.rnn.pad_sequence(list(parts), batch_first=True) if parts else targets.view(0, 0)
