"""Log-probabilities of the moves out of nodes, without a tensor of the log-probabilities of all labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from strukt.kernels.autograd import differentiable_gradients, is_batched, is_transformed

BLOCK = 1 << 20
"""The number of scores processed at once on a CPU: few enough for its caches, many enough to amortise calls."""


def log_prob_moves(logits: Tensor, labels: Tensor, lengths: Tensor, target_lengths: Tensor) -> Tensor:
    """Return the log-softmax of logits ``(batch, n, m + 1, c)`` at two labels a node: ``(batch, n, m + 1, 2)``.

    Only the gradient is as large as the logits; it is computed item by item, without the padding. Under
    ``torch.func``, in forward mode and in compiled code it is `_written_out`.

    Args:
        logits: In float32 or float64; half precision is computed in float32.
        labels: ``(batch, m + 1, 2)``, from 0 to c - 1.
        lengths: ``(batch,)``, in frames. Padding nodes have 0 and gradient 0.
        target_lengths: ``(batch,)``, in labels.

    Complexity: O(c) a node.

    Examples:
        >>> logits = torch.tensor([1.0, 3.0]).log().expand(1, 1, 1, 2)
        >>> log_prob_moves(logits, torch.tensor([[[1, 0]]]), torch.tensor([1]), torch.tensor([0])).exp()
        tensor([[[[0.7500, 0.2500]]]])
    """
    is_traced = torch.compiler.is_compiling() or torch._C._len_torch_dispatch_stack()
    if is_traced or is_transformed(logits):
        return _written_out(logits, labels, lengths, target_lengths)
    return _LogProbMoves.apply(logits, labels, lengths, target_lengths)  # type: ignore[no-any-return, no-untyped-call]


def _written_out(logits: Tensor, labels: Tensor, lengths: Tensor, target_lengths: Tensor) -> Tensor:
    """Compute `log_prob_moves` by plain operations, with several tensors of the size of the logits."""
    frame, count = (torch.arange(size, device=logits.device) for size in logits.shape[1:3])
    inside = (frame.unsqueeze(-1) < lengths[:, None, None]) & (count <= target_lengths[:, None, None])
    inside = inside.unsqueeze(-1)
    scores = torch.where(inside, logits, 0.0)  # padding may hold NaN, whose softmax has no gradient
    moves = scores.to(torch.promote_types(logits.dtype, torch.float32)).log_softmax(-1)
    chosen = moves.gather(-1, labels.unsqueeze(1).expand(*logits.shape[:-1], 2))
    return torch.where(inside, chosen, 0.0)


class _LogProbMoves(Function):
    """Autograd function of `log_prob_moves`, computed item by item."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, labels: Tensor, lengths: Tensor, target_lengths: Tensor) -> Tensor:
        ctx.save_for_backward(logits, labels, lengths, target_lengths)
        dtype = torch.promote_types(logits.dtype, torch.float32)
        moves = logits.new_zeros(*logits.shape[:-1], 2, dtype=dtype)
        for item, index in _nodes(logits, lengths, target_lengths):
            scores = logits[item][index].to(dtype)
            chosen = scores.gather(-1, labels[item, index[1]].expand(*scores.shape[:-1], 2))
            moves[item][index] = chosen - scores.logsumexp(-1, keepdim=True)
        return moves

    @staticmethod
    def backward(ctx: Any, grads: Tensor) -> Any:
        if is_batched(grads):
            logits = ctx.saved_tensors[0]
            with torch.enable_grad():
                moves = _written_out(*ctx.saved_tensors)
            return *differentiable_gradients(moves, (logits,), grads), None, None, None
        gradient = _Gradient.apply(grads, *ctx.saved_tensors)  # type: ignore[no-untyped-call]
        return gradient, None, None, None


class _Gradient(Function):
    """Autograd function of the gradient with respect to the logits, for second derivatives, but no higher ones.

    The gradient is linear in ``grads``, the gradient with respect to the moves.
    """

    @staticmethod
    def forward(
        ctx: Any, grads: Tensor, logits: Tensor, labels: Tensor, lengths: Tensor, target_lengths: Tensor
    ) -> Tensor:
        ctx.save_for_backward(grads, logits, labels, lengths, target_lengths)
        result = torch.zeros_like(logits, dtype=grads.dtype)
        for item, index in _nodes(logits, lengths, target_lengths):
            each, scores = grads[item][index], logits[item][index].to(grads.dtype)
            part = result[item][index]
            torch.softmax(scores, -1, out=part).mul_(-each.sum(-1, keepdim=True))
            part.scatter_add_(-1, labels[item, index[1]].expand(each.shape), each)
        return result.to(logits.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, directions: Tensor) -> Any:
        grads, logits, labels, lengths, target_lengths = ctx.saved_tensors
        of_grads, of_logits = torch.zeros_like(grads), torch.zeros_like(logits)
        for item, index in _nodes(logits, lengths, target_lengths):
            each, direction = grads[item][index], directions[item][index].to(grads.dtype)
            shares = logits[item][index].to(grads.dtype).softmax(-1)
            expected = (shares * direction).sum(-1, keepdim=True)
            of_grads[item][index] = (
                direction.gather(-1, labels[item, index[1]].expand(each.shape)) - expected
            )
            turned = shares * (expected - direction) * each.sum(-1, keepdim=True)
            of_logits[item][index] = turned.to(of_logits.dtype)
        return of_grads, of_logits, None, None, None


def _nodes(logits: Tensor, lengths: Tensor, target_lengths: Tensor) -> Iterator[tuple[int, tuple[slice, slice]]]:
    """Yield each item's index, with slices of its frames and labels within both lengths.

    On a CPU, an item is yielded in blocks of frames that fit into the cache.
    """
    at_once = BLOCK // logits[0, 0].numel() if logits.is_cpu and logits.numel() else logits.shape[1]
    rows = max(at_once, 1)
    sizes = zip(lengths.tolist(), target_lengths.tolist(), strict=True)
    for item, (frames, labels) in enumerate(sizes):
        for first in range(0, frames, rows):
            yield item, (slice(first, min(first + rows, frames)), slice(labels + 1))
