"""The log-probability of sentences under a hidden Markov model (forward algorithm), with a fused gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from strukt.kernels.autograd import asks_for_gradient
from strukt.kernels.full_precision import full_precision
from strukt.kernels.undifferentiated import carries_derivative
from strukt.structures.hmm import blocked_forward, few_states, parallel_scan, reference, scaled_forward
from strukt.structures.hmm.blocked_forward import Blocks
from strukt.structures.hmm.lanes import lanes
from strukt.structures.hmm.recursions import OverBlocks, OverChunks, OverFewStates, OverTime, Recursion
from strukt.structures.hmm.steps import steps

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

Tensors = tuple[Tensor, ...]


def log_evidence(
    words: Tensor,
    lengths: Tensor,
    initial: Tensor,
    emission: Tensor,
    matrices: Tensors,
    band: Tensor | None = None,
    checkpoint: bool = False,
    storage: torch.dtype | None = None,
    group: ProcessGroup | None = None,
    blocks: Blocks | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the log-probability of each sentence and the distribution of its last state; differentiable.

    Args:
        words: ``(batch, n)``, rows of the table of emissions; padding is ignored.
        lengths: ``(batch,)``.
        initial: ``(batch, z)``, the probabilities of the first state.
        emission: ``(v, z)``, the log-probability of each word in each state.
        matrices: The factors of the transition matrix: ``(z, z)``, or ``(z, r)`` and ``(r, z)``, or an empty
            tuple.
        band: ``(z, 2 w + 1)``, probabilities added to the product of the factors: ``[i, d]`` from state i to state
            i + d - w. None for no band.
        checkpoint: Whether to store O(sqrt(n)) messages for the gradient instead of all n, at the cost of one more
            forward pass.
        storage: The type in which to keep the transition matrix for the steps, such as ``torch.bfloat16``;
            None for its own.
        group: The processes over which states are distributed, z for each; or None. The factors then have one
            more feature: a column of ones in the first, a row of zeros in the last. Sentences with a scale
            that underflows count as impossible, and there are no higher derivatives.
        blocks: The block of states of each word, or None. With blocks, ``emission`` is ``(v, k)``, for the states
            of a word's block only; there must be no band, and ``checkpoint`` and ``storage`` have no effect. The
            gradient stores the distribution of the state of each word given the words before it, ``(tokens, k)``.

    Returns:
        The log-probability ``(batch,)`` in double precision, and the last state's distribution ``(batch, z)``, 0
        for impossible or empty sentences.

    A step takes O(z r), or O(z^2), or O(z w). Where `strukt.structures.hmm.parallel_scan` is faster, all n steps
    take O(u z r^2 + n r^3) for u different words. The gradient stores messages: ``(tokens, r)`` with two factors
    and no band, else ``(tokens, z)``. First derivatives come from the fused backward pass. Higher derivatives, and
    sentences with a scale that underflows, are computed by `strukt.structures.hmm.reference`.
    """
    scores = (initial, emission, *(() if band is None else (band,)), *matrices)
    keeps = _KEEPS[checkpoint] if any(map(carries_derivative, scores)) else ""
    inputs = words, lengths, keeps, storage, group, blocks, initial, emission, band, *matrices
    evidence, last, *_ = _Evidence.apply(*inputs)  # type: ignore[no-untyped-call]
    return evidence, last


def following(
    last: Tensor, lengths: Tensor, initial: Tensor, matrices: Tensors, band: Tensor | None = None
) -> Tensor:
    """Return the distribution of the state after the last word, ``(batch, z)``.

    ``last (batch, z)`` is that at the last word. For sentences without words, the result is ``initial``.
    """
    moving = steps(matrices, band)
    return torch.where((lengths > 0).unsqueeze(1), moving.advance(moving.message(last)), initial)


class _Evidence(torch.autograd.Function):
    """Autograd function of the log-probability and the distribution of the last state.

    It also returns a mask of the sentences that underflowed, and the tensors stored for the gradient.
    """

    @staticmethod
    def forward(
        words: Tensor,
        lengths: Tensor,
        keeps: str,
        storage: torch.dtype | None,
        group: ProcessGroup | None,
        blocks: Blocks | None,
        initial: Tensor,
        emission: Tensor,
        band: Tensor | None,
        *matrices: Tensor,
    ) -> Tensors:
        scores = [initial, emission, band, *matrices]
        evidence, last, kept = _recursion(words, lengths, keeps, storage, group, blocks, scores).forward()
        underflowed = evidence == -torch.inf
        if group is not None:
            last[underflowed] = 0.0
        elif bool(underflowed.any()):
            table = emission if blocks is None else blocks.spread(emission)
            sentences = words[underflowed], lengths[underflowed], initial[underflowed]
            evidence[underflowed], states = reference.log_evidence(*sentences, table, matrices, band)
            last[underflowed] = states.to(last.dtype)
        return evidence, last, underflowed, *kept

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensors) -> None:
        words, lengths, ctx.keeps, ctx.storage, ctx.group, ctx.blocks, *scores = inputs
        _, last, underflowed, *kept = output
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(underflowed, *kept)
        ctx.save_for_backward(words, lengths, underflowed, last, *scores, *kept)
        ctx.inputs = len(scores)

    @staticmethod
    @full_precision
    def backward(ctx: Any, evidence: Tensor | None, last: Tensor | None, *_: Any) -> Any:
        # A vjp of torch.func saves tensors in wrappers, which are dead by now and know nothing of gradients.
        saved: list[Any] = [
            each if each is None else torch._C._functorch.unwrap_if_dead(each) for each in ctx.saved_tensors
        ]
        words, lengths, underflowed, state, *tensors = saved
        scores, kept = tensors[: ctx.inputs], tensors[ctx.inputs :]
        requested = ctx.needs_input_grad[6:]
        mapped = torch._C._functorch.is_batchedtensor
        if any(each is not None and mapped(each) for each in (evidence, last)):
            raise NotImplementedError(
                "torch.func.jacrev and vmap cannot map the gradients of a hidden Markov model; use "
                "torch.autograd.functional.jacobian or a loop"
            )
        evidence = state.new_zeros(len(state), dtype=torch.float64) if evidence is None else evidence
        last = torch.zeros_like(state) if last is None else last
        graph = asks_for_gradient((*tensors, evidence, last))
        if graph:  # for higher derivatives
            if ctx.group is not None:
                raise NotImplementedError("there are no second derivatives where processes share the states")
            result = _reference_gradients(words, lengths, scores, ctx.blocks, requested, evidence, last, graph)
            return (None, None, None, None, None, None, *result)
        # The last state is normalised, so that a common factor of its weights has no effect.
        final = evidence.unsqueeze(1).to(state.dtype) + last - (last * state).sum(1, keepdim=True)
        final = torch.where(underflowed.unsqueeze(1), 0.0, final)
        recursion = _recursion(words, lengths, ctx.keeps, ctx.storage, ctx.group, ctx.blocks, scores)
        result = recursion.gradients(kept, final, requested)
        if ctx.group is None and bool(underflowed.any()):
            some = [scores[0][underflowed], *scores[1:]]
            more = _reference_gradients(
                words[underflowed], lengths[underflowed], some, ctx.blocks, requested, evidence[underflowed],
                last[underflowed], graph,
            )  # fmt: skip
            if more[0] is not None:
                more[0] = torch.zeros_like(state).index_copy(0, underflowed.nonzero().squeeze(1), more[0])
            result = [
                part if part is None or add is None else part + add
                for part, add in zip(result, more, strict=True)
            ]
        return (None, None, None, None, None, None, *result)


_KEEPS = {False: "all", True: "some"}
"""The messages that are stored if a gradient is needed, by ``checkpoint``."""


def _recursion(
    words: Tensor,
    lengths: Tensor,
    keeps: str,
    storage: torch.dtype | None,
    group: ProcessGroup | None,
    blocks: Blocks | None,
    scores: list[Any],
) -> Recursion:
    """Choose the fastest recursion for ``scores``: initial distributions, emissions, band and matrices."""
    initial, table, band, *matrices = scores
    inputs = lanes(words, lengths), initial, scaled_forward.emissions(table, group), keeps
    of_words, _, emission, _ = inputs
    if blocks is not None:
        corners = blocked_forward.corners(tuple(matrices), blocks.number, initial.dtype)
        return OverBlocks(*inputs, blocks, corners)
    moving = steps(tuple(matrices), band, storage, group)
    stores_all = keeps != "some"
    if stores_all and few_states.pays(of_words, moving, initial.dtype):
        return OverFewStates(*inputs, matrices[0])
    if stores_all and parallel_scan.pays(of_words, len(emission.table), moving):
        return OverChunks(*inputs, moving, band)
    return OverTime(*inputs, moving, band)


def _reference_gradients(
    words: Tensor,
    lengths: Tensor,
    scores: list[Tensor],
    blocks: Blocks | None,
    requested: tuple[bool, ...],
    evidence: Tensor,
    last: Tensor,
    graph: bool,
) -> list[Tensor | None]:
    """Return the gradients with respect to ``scores``, computed by the reference; None if not requested.

    With ``graph`` they are differentiable; without it, the reference needs little memory. ``evidence (batch,)``
    and ``last (batch, z)`` are the gradients with respect to its results.
    """
    with torch.enable_grad():
        scores = [
            score.detach().requires_grad_() if want and not (graph and score.requires_grad) else score
            for score, want in zip(scores, requested, strict=True)
        ]
        initial, emission, band, *matrices = scores
        table = emission if blocks is None else blocks.spread(emission)
        value = reference.log_evidence(words, lengths, initial, table, tuple(matrices), band, not graph)
        possible = value[0] > -torch.inf
        total = torch.where(possible, value[0] * evidence, 0.0).sum() + (value[1] * last).sum()
        leaves = [score for score, want in zip(scores, requested, strict=True) if want]
        if not total.requires_grad:
            result = tuple(map(torch.zeros_like, leaves))
        else:
            result = torch.autograd.grad(total, leaves, create_graph=graph, materialize_grads=True)
    # Gradients with respect to probabilities near 0 may overflow, and infinity times 0 would be NaN.
    each = (gradient.masked_fill(gradient.isinf(), 0.0) for gradient in result)
    return [next(each) if want else None for want in requested]
