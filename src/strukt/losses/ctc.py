"""The CTC loss: transcripts with an unknown alignment to the frames, with the arguments of PyTorch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from strukt.checks import arguments
from strukt.checks.lengths import Lengths, as_tensor
from strukt.losses.transcripts import lengths_on, reduced, require_reduction
from strukt.structures.ctc.distribution import CTC


class _OfLogProbs(CTC):
    """`CTC` whose errors name the argument of the loss."""

    score_names = ("log_probs",)


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Lengths,
    target_lengths: Lengths,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
    validate_args: bool | None = None,
) -> Tensor:
    """Return the CTC loss -log p(target), like ``torch.nn.functional.ctc_loss``, with derivatives of any order.

    The gradient with respect to ``log_probs`` is minus the probability of each label at each frame, given the
    target. PyTorch adds ``exp(log_probs)``, which is only right for the input of ``log_softmax``: there, both
    gradients agree. A target too long for its frames has gradient 0 here and NaN in PyTorch.

    Args:
        log_probs: Output of ``log_softmax``, ``(T, N, C)`` for T frames, N items and C labels including the blank;
            ``(T, C)`` for a single item.
        targets: Labels other than the blank: ``(N, S)`` for targets of up to S labels, with any padding; or
            concatenated as ``(sum of target_lengths,)``; ``(S,)`` for a single item.
        input_lengths: ``(N,)``, the number of frames of each item; a number or ``(1,)`` for a single item.
        target_lengths: ``(N,)``, the number of labels of each target, 0 or more; likewise for a single item.
        blank: The blank label.
        reduction: ``"none"``, ``"sum"`` over the items, or ``"mean"`` over the items of the loss divided by the
            length of the target, at least 1; NaN without items, as in PyTorch.
        zero_infinity: Whether a target too long for its frames has loss 0 instead of infinity.
        validate_args: Whether to check values as well as shapes, which waits for a GPU; on by default. Without
            these checks, only concatenated targets wait, unless ``target_lengths`` are on the CPU.

    Returns:
        A number; with ``reduction="none"``, ``(N,)`` unless there is a single item without a batch axis.

    Raises:
        ValueError: If shapes or types do not fit, a length or a label is out of range, a score is NaN or +inf, or
            the reduction is unknown.

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
    require_reduction(reduction)
    arguments.scores("log_probs", log_probs, "(T, N, C) or (T, C)", 2)
    if log_probs.dim() > 3:
        raise ValueError(
            f"log_probs has shape {tuple(log_probs.shape)}; expected (T, N, C), or (T, C) for one item"
        )
    batched = log_probs.dim() == 3
    items = log_probs.transpose(0, 1) if batched else log_probs.unsqueeze(0)
    batch, frames, _ = items.shape
    check = validate_args is not False
    frames_of_items = _of_items("input_lengths", input_lengths, batched)
    labels_of_items = _of_items("target_lengths", target_lengths, batched)
    lengths = lengths_on(items.device, "input_lengths", frames_of_items, batch, frames, validate_args)
    longest = _largest(labels_of_items, targets, check)
    target_lengths = lengths_on(
        items.device, "target_lengths", labels_of_items, batch, longest, validate_args
    )
    targets = _padded(targets, labels_of_items, items.device, batched, check)
    losses = -_OfLogProbs(items, targets, lengths, target_lengths, blank, validate_args).log_partition
    if zero_infinity:
        losses = torch.where(losses == torch.inf, 0.0, losses)
    if reduction == "mean":
        losses = losses / target_lengths.clamp(min=1)
    return reduced(losses if batched else losses.squeeze(0), reduction)


def _of_items(name: str, value: Lengths, batched: bool) -> Any:
    """Return lengths as a tensor; without a batch axis (``batched`` is False), a plain number is one length."""
    tensor = as_tensor(value, name)
    return tensor.unsqueeze(0) if isinstance(tensor, Tensor) and not (batched or tensor.dim()) else tensor


def _largest(lengths: Any, targets: Any, check: bool) -> int:
    """Return the largest length; 0 if there is none, or if lengths are on a GPU and ``check`` is False.

    A compiled graph cannot read lengths: there it is the largest that the targets have space for.
    """
    if torch.compiler.is_compiling() and isinstance(targets, Tensor):
        return targets.shape[-1]
    readable = isinstance(lengths, Tensor) and lengths.numel() and (check or lengths.is_cpu)
    return max(int(lengths.max()), 0) if readable else 0


def _padded(
    targets: Tensor, target_lengths: Tensor, device: torch.device, batched: bool, check: bool
) -> Tensor:
    """Return targets as rows ``(batch, S)``; concatenated ones are split and padded."""
    origin = getattr(targets, "device", device)  # PyTorch takes targets on the CPU, too
    arguments.integers("targets", targets, "(N, S) or (sum of target_lengths,)", origin)
    targets = targets.to(device)
    if targets.dim() == 2 or not batched:
        batch, longest = len(target_lengths), _largest(target_lengths, targets, check)
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
