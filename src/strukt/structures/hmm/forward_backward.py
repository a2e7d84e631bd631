"""The log-probability of sentences under a hidden Markov model (forward algorithm), with a fused gradient."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from strukt.kernels.undifferentiated import carries_derivative
from strukt.structures.hmm import backward as backwards
from strukt.structures.hmm import band as bands
from strukt.structures.hmm import blocked_forward, few_states, parallel_scan, reference, scaled_forward
from strukt.structures.hmm.blocked_forward import Blocks
from strukt.structures.hmm.lanes import Lanes, lanes
from strukt.structures.hmm.scaled_forward import Emissions
from strukt.structures.hmm.steps import Steps, steps

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
        matrices: The factors of the transition matrix: ``(z, z)``, or ``(z, r)`` and ``(r, z)``, or none.
        band: ``(z, 2 w + 1)``, probabilities added to it: ``[i, d]`` from state i to state i + d - w.
        checkpoint: Whether to store O(sqrt(n)) messages for the gradient instead of all n, at the cost of one more
            forward pass.
        storage: The type in which to keep the transition matrix for the steps, such as ``torch.bfloat16``.
        group: Processes with z states each, and with one more feature r in the factors: ones in the first, zeros
            in the last. Sentences with a scale that underflows then count as impossible, and there are no higher
            derivatives.
        blocks: The block of states of each word, or None. With blocks, ``emission`` has these states only,
            ``(v, k)``, there is no band, and all states before words, ``(tokens, k)``, are stored for the
            gradient.

    Returns:
        ``(batch,)`` in double precision, and ``(batch, z)``, 0 for impossible or empty sentences.

    A step takes O(z r), or O(z^2), or O(z w); where `strukt.structures.hmm.parallel_scan` is faster, all n of them
    take O(u z r^2 + n r^3) for u different words. The gradient stores messages ``(tokens, r)``, or ``(tokens, z)``
    without two factors or with a band. First derivatives come from the fused backward pass; higher ones, and
    sentences with a scale that underflows, from `strukt.structures.hmm.reference`.
    """
    scores = (initial, emission, *(() if band is None else (band,)), *matrices)
    keeps = _KEEPS[checkpoint] if any(map(carries_derivative, scores)) else ""
    given = words, lengths, keeps, storage, group, blocks, initial, emission, band, *matrices
    evidence, last, *_ = _Evidence.apply(*given)  # type: ignore[no-untyped-call]
    return evidence, last


def following(
    last: Tensor, lengths: Tensor, initial: Tensor, matrices: Tensors, band: Tensor | None = None
) -> Tensor:
    """Return the distribution ``(batch, z)`` of the state after the last word; the initial one for no words."""
    moving = steps(matrices, band)
    return torch.where((lengths > 0).unsqueeze(1), moving.advance(moving.message(last)), initial)


class _Evidence(torch.autograd.Function):
    """Autograd function of evidence and last states; also returns underflowed sentences, scales, messages."""

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
        of_words, emitted = lanes(words, lengths), scaled_forward.emissions(emission, group)
        if blocks is None:
            moving = steps(matrices, band, storage, group)
            if _are_few_states(of_words, moving, initial, keeps):
                evidence, last, kept = few_states.forward(
                    of_words, initial, emitted, matrices[0], keeps == "all"
                )
            else:
                evidence, last, kept = _forward(
                    of_words, initial, emitted, moving.laid_out(len(words)), keeps
                )
        else:
            cut = blocked_forward.corners(matrices, blocks.number, initial.dtype)
            evidence, last, kept = blocked_forward.forward(of_words, blocks, initial, emitted, cut)
        underflowed = evidence == -torch.inf
        if group is not None:
            last[underflowed] = 0.0
        elif bool(underflowed.any()):
            table = emission if blocks is None else blocks.spread(emission)
            of_lost = words[underflowed], lengths[underflowed], initial[underflowed], table, matrices, band
            evidence[underflowed], result = reference.log_evidence(*of_lost)
            last[underflowed] = result.to(last.dtype)
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
    def backward(ctx: Any, evidence: Tensor | None, last: Tensor | None, *_: Any) -> Any:
        words, lengths, underflowed, state, *tensors = ctx.saved_tensors
        scores, kept = tensors[: ctx.inputs], tensors[ctx.inputs :]
        requested = ctx.needs_input_grad[6:]
        evidence = state.new_zeros(len(state), dtype=torch.float64) if evidence is None else evidence
        last = torch.zeros_like(state) if last is None else last
        if torch.is_grad_enabled():  # for higher derivatives
            if ctx.group is not None:
                raise NotImplementedError("there are no second derivatives where processes share the states")
            result = _reference_gradients(words, lengths, scores, ctx.blocks, requested, evidence, last)
            return (None, None, None, None, None, None, *result)
        # The last state is normalised, so that a change of all its weights by a factor changes nothing.
        final = evidence.unsqueeze(1).to(state.dtype) + last - (last * state).sum(1, keepdim=True)
        final = torch.where(underflowed.unsqueeze(1), 0.0, final)
        of_words = lanes(words, lengths)
        initial, emission, band, *matrices = scores
        emitted = scaled_forward.emissions(emission, ctx.group)
        if ctx.blocks is None:
            moving = steps(tuple(matrices), band, ctx.storage, ctx.group)
            if _are_few_states(of_words, moving, initial, ctx.keeps):
                in_initial, in_emission, in_matrix = few_states.gradients(of_words, matrices[0], kept, final)
                result = [in_initial, in_emission, None, in_matrix]
            else:
                result = _fused_gradients(
                    of_words, ctx.keeps, initial, emitted, band, moving, requested, kept, final
                )
        else:
            cut = blocked_forward.corners(tuple(matrices), ctx.blocks.number, initial.dtype)
            given = (of_words, ctx.blocks, emitted, cut, kept, final)
            in_initial, in_emission, into = blocked_forward.gradients(*given)
            result = [in_initial, in_emission, None, *into]
        if ctx.group is None and bool(underflowed.any()):
            some = [scores[0][underflowed], *scores[1:]]
            more = _reference_gradients(
                words[underflowed], lengths[underflowed], some, ctx.blocks, requested, evidence[underflowed],
                last[underflowed],
            )  # fmt: skip
            if more[0] is not None:
                more[0] = torch.zeros_like(state).index_copy(0, underflowed.nonzero().squeeze(1), more[0])
            result = [
                part if part is None or add is None else part + add
                for part, add in zip(result, more, strict=True)
            ]
        return (None, None, None, None, None, None, *result)


_KEEPS = {False: "all", True: "some"}
"""The messages stored for the gradient, by ``checkpoint``; none without a gradient."""


def _stretches(duration: int, keeps: str) -> list[tuple[int, int]]:
    """Return the stretches of time after the first word, each starting where a message is stored."""
    size = max(math.isqrt(duration), 1) if keeps == "some" else max(duration, 1)
    return [(first, min(first + size, duration)) for first in range(1, duration, size)]


def _are_few_states(words: Lanes, moving: Steps, initial: Tensor, keeps: str) -> bool:
    """Return True if steps are small enough for a compiled loop, which stores all states for the gradient."""
    return keeps != "some" and few_states.pays(words, moving, initial.dtype)


def _at_once(words: Lanes, emission: Emissions, steps: Steps, keeps: str) -> bool:
    """Return True if all chunks of time are computed at once, which stores all messages."""
    return keeps != "some" and parallel_scan.pays(words, len(emission.table), steps)


def _forward(
    words: Lanes, initial: Tensor, emission: Emissions, steps: Steps, keeps: str
) -> tuple[Tensor, Tensor, list[Tensor]]:
    """Return evidence, last states, and for the backward pass all scales, then the messages of each stretch."""
    if not words.duration:
        return initial.new_zeros(len(initial), dtype=torch.float64), torch.zeros_like(initial), []
    run = scaled_forward.run(words, 0, 1, initial[words.order], emission, steps, False)
    runs, messages = [run], []
    at_once = _at_once(words, emission, steps, keeps)
    if at_once:
        runs.append(parallel_scan.run(words, run, emission, steps))
    for first, last in [] if at_once else _stretches(words.duration, keeps):
        if keeps == "some":
            messages.append(run.message[: words.sizes[first]])
        run = scaled_forward.run(words, first, last, run.message, emission, steps, keeps == "all")
        runs.append(run)
    messages += [run.incoming for run in runs if run.incoming is not None]
    last_states = torch.zeros_like(initial)
    last_states[words.order[: words.sizes[0]]] = torch.cat([run.states for run in reversed(runs)])
    evidence = words.totals(torch.cat([run.logs for run in runs]))
    return evidence, last_states, [torch.cat([run.scales for run in runs]), *messages]


def _fused_gradients(
    words: Lanes,
    keeps: str,
    initial: Tensor,
    emission: Emissions,
    band: Tensor | None,
    moving: Steps,
    requested: tuple[bool, ...],
    kept: list[Tensor],
    final: Tensor,
) -> list[Tensor | None]:
    """Return gradients for initial distributions, emissions, band and matrices, from beta at the end."""
    in_initial, in_emission, in_band, *in_matrices = requested
    in_first = in_matrices[0] if len(in_matrices) == 2 else False
    needs = (in_emission, in_first, bool(in_matrices) and in_matrices[-1], in_band)
    work, carried = backwards.start(words, final[words.order], emission, moving, needs)
    result = torch.zeros_like(initial)
    if words.duration:
        scales, *messages = kept
        at_once = _at_once(words, emission, moving, keeps)
        if at_once:
            carried = _swept(work, messages[0], scales[words.sizes[0] :])
        stretches = [] if at_once else _stretches(words.duration, keeps)
        for (first, last), message in zip(reversed(stretches), reversed(messages), strict=not at_once):
            if keeps == "some":
                run = scaled_forward.run(words, first, last, message, emission, moving, True)
                message = run.incoming if run.incoming is not None else message
            some = scales[words.offsets[first] : words.offsets[last]]
            carried = backwards.retrace(work, first, last, message, some, carried)
        beginning = words.order[: words.sizes[0]]
        carried = backwards.retrace(work, 0, 1, initial[beginning], scales[: words.sizes[0]], carried)
        result[beginning] = carried.q
    into = work.steps_gradient
    blocks = None if into.blocks is None or band is None else bands.from_blocks(into.blocks, band)
    in_emission_too = work.emission_gradient if in_emission else None
    return [
        result if in_initial else None,
        in_emission_too,
        blocks,
        *(into.first, into.last)[2 - len(in_matrices) :],
    ]


def _swept(work: backwards.Backward, incoming: Tensor, scales: Tensor) -> backwards.Carried:
    """Accumulate the gradients of all words but the first ones; return the values passed on to those."""
    first, going_on = work.lanes.sizes[:2]
    etas = parallel_scan.messages_back(
        work.lanes, work.final[:going_on], incoming, scales, work.emission, work.steps
    )
    backwards.sweep(work, incoming, scales, etas[first:])
    return backwards.Carried(work.final[:0], etas[:going_on])


def _reference_gradients(
    words: Tensor,
    lengths: Tensor,
    scores: list[Tensor],
    blocks: Blocks | None,
    requested: tuple[bool, ...],
    evidence: Tensor,
    last: Tensor,
) -> list[Tensor | None]:
    """Return the gradients through the reference: with a graph for higher derivatives, else with little memory."""
    graph = torch.is_grad_enabled()
    with torch.enable_grad():
        if not graph:
            scores = [score if score is None else score.detach().requires_grad_() for score in scores]
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
