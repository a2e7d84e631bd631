"""The log-probability of sentences under a hidden Markov model, with a gradient of its own."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from strukt.kernels.undifferentiated import carries_derivative
from strukt.structures.hmm import backward as backwards
from strukt.structures.hmm import band as bands
from strukt.structures.hmm import blocked, few_states, parallel, reference, scaled
from strukt.structures.hmm.blocked import Blocks
from strukt.structures.hmm.lanes import Lanes, lanes
from strukt.structures.hmm.scaled import Emissions
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
    """The log-probability of each sentence and the distribution of its last state; differentiable.

    Args:
        words: ``(batch, n)``, rows of the table of emissions; anything beyond the lengths.
        lengths: ``(batch,)``.
        initial: ``(batch, z)``, the probabilities of the first state.
        emission: ``(v, z)``, the log-probability of each word in each state.
        matrices: Their product is the transition matrix: ``(z, z)``, or ``(z, r)`` and ``(r, z)``, or nothing.
        band: ``(z, 2 w + 1)``, probabilities added to it: ``[i, d]`` from state i to state i + d - w.
        checkpoint: Whether to keep O(sqrt(n)) messages for the gradient, for one more forward pass, and not all n.
        storage: The type in which to keep the transition matrix for the steps, such as ``torch.bfloat16``.
        group: Processes of which each gives its own z states, with factors that have feature r more: ones in the
            first, zeros in the last. Then sentences of which a scale underflows count as impossible, and there
            are no higher derivatives.
        blocks: If words come from one block of states each: ``emission`` is that of these alone, ``(v, k)``. Then
            there is no band, and all states before words, ``(tokens, k)``, are kept for the gradient.

    Returns:
        ``(batch,)`` in double precision, and ``(batch, z)``, 0 for sentences that are impossible or of no words.

    A step takes O(z r), or O(z^2), or O(z w); where `strukt.structures.hmm.parallel` is faster, all n of them take
    O(u z r^2 + n r^3) for u different words. The gradient keeps messages ``(tokens, r)``, or ``(tokens, z)`` if
    there are no two factors or there is a band. First derivatives are those of the fused backward pass, higher
    ones those of `strukt.structures.hmm.reference`, as are the answers for sentences of which a scale underflows.
    """
    scores = (initial, emission, *(() if band is None else (band,)), *matrices)
    keeps = _KEEPS[checkpoint] if any(map(carries_derivative, scores)) else ""
    given = words, lengths, keeps, storage, group, blocks, initial, emission, band, *matrices
    evidence, last, *_ = _Evidence.apply(*given)  # type: ignore[no-untyped-call]
    return evidence, last


def following(
    last: Tensor, lengths: Tensor, initial: Tensor, matrices: Tensors, band: Tensor | None = None
) -> Tensor:
    """The distribution ``(batch, z)`` of the state after the last word: the initial one of words that follow."""
    moving = steps(matrices, band)
    return torch.where((lengths > 0).unsqueeze(1), moving.advance(moving.message(last)), initial)


class _Evidence(torch.autograd.Function):
    """Evidence and last states; then what the backward pass needs: lost sentences, all scales, and messages."""

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
        of_words, emitted = lanes(words, lengths), scaled.emissions(emission, group)
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
            cut = blocked.corners(matrices, blocks.number, initial.dtype)
            evidence, last, kept = blocked.forward(of_words, blocks, initial, emitted, cut)
        lost = evidence == -torch.inf
        if group is not None:
            last[lost] = 0.0
        elif bool(lost.any()):
            table = emission if blocks is None else blocks.spread(emission)
            of_lost = words[lost], lengths[lost], initial[lost], table, matrices, band
            evidence[lost], found = reference.log_evidence(*of_lost)
            last[lost] = found.to(last.dtype)
        return evidence, last, lost, *kept

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensors) -> None:
        words, lengths, ctx.keeps, ctx.storage, ctx.group, ctx.blocks, *scores = inputs
        _, last, lost, *kept = output
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(lost, *kept)
        ctx.save_for_backward(words, lengths, lost, last, *scores, *kept)
        ctx.inputs = len(scores)

    @staticmethod
    def backward(ctx: Any, evidence: Tensor | None, last: Tensor | None, *_: Any) -> Any:
        words, lengths, lost, state, *tensors = ctx.saved_tensors
        scores, kept = tensors[: ctx.inputs], tensors[ctx.inputs :]
        wanted = ctx.needs_input_grad[6:]
        evidence = state.new_zeros(len(state), dtype=torch.float64) if evidence is None else evidence
        last = torch.zeros_like(state) if last is None else last
        if torch.is_grad_enabled():  # somebody differentiates the gradient
            if ctx.group is not None:
                raise NotImplementedError("there are no second derivatives where processes share the states")
            found = _reference_gradients(words, lengths, scores, ctx.blocks, wanted, evidence, last)
            return (None, None, None, None, None, None, *found)
        # The last state is normalised, so that a change of all its weights by a factor changes nothing.
        final = evidence.unsqueeze(1).to(state.dtype) + last - (last * state).sum(1, keepdim=True)
        final = torch.where(lost.unsqueeze(1), 0.0, final)
        of_words = lanes(words, lengths)
        initial, emission, band, *matrices = scores
        emitted = scaled.emissions(emission, ctx.group)
        if ctx.blocks is None:
            moving = steps(tuple(matrices), band, ctx.storage, ctx.group)
            if _are_few_states(of_words, moving, initial, ctx.keeps):
                in_initial, in_emission, in_matrix = few_states.gradients(of_words, matrices[0], kept, final)
                found = [in_initial, in_emission, None, in_matrix]
            else:
                found = _fused_gradients(
                    of_words, ctx.keeps, initial, emitted, band, moving, wanted, kept, final
                )
        else:
            cut = blocked.corners(tuple(matrices), ctx.blocks.number, initial.dtype)
            in_initial, in_emission, into = blocked.gradients(of_words, ctx.blocks, emitted, cut, kept, final)
            found = [in_initial, in_emission, None, *into]
        if ctx.group is None and bool(lost.any()):
            some = [scores[0][lost], *scores[1:]]
            more = _reference_gradients(
                words[lost], lengths[lost], some, ctx.blocks, wanted, evidence[lost], last[lost]
            )
            if more[0] is not None:
                more[0] = torch.zeros_like(state).index_copy(0, lost.nonzero().squeeze(1), more[0])
            found = [
                part if part is None or add is None else part + add
                for part, add in zip(found, more, strict=True)
            ]
        return (None, None, None, None, None, None, *found)


_KEEPS = {False: "all", True: "some"}
"""Which messages to keep for the gradient; none if there is none."""


def _stretches(duration: int, keeps: str) -> list[tuple[int, int]]:
    """The times after the first one, cut where a message is kept."""
    size = max(math.isqrt(duration), 1) if keeps == "some" else max(duration, 1)
    return [(first, min(first + size, duration)) for first in range(1, duration, size)]


def _are_few_states(words: Lanes, moving: Steps, initial: Tensor, keeps: str) -> bool:
    """Whether steps are small enough for a compiled loop, which keeps all states for the gradient."""
    return keeps != "some" and few_states.pays(words, moving, initial.dtype)


def _at_once(words: Lanes, emission: Emissions, steps: Steps, keeps: str) -> bool:
    """Whether all chunks of time are computed at once, which keeps all messages."""
    return keeps != "some" and parallel.pays(words, len(emission.table), steps)


def _forward(
    words: Lanes,
    initial: Tensor,
    emission: Emissions,
    steps: Steps,
    keeps: str,
) -> tuple[Tensor, Tensor, list[Tensor]]:
    """Evidence, last states, and what the backward pass needs: all scales, then the messages of each stretch."""
    if not words.duration:
        return initial.new_zeros(len(initial), dtype=torch.float64), torch.zeros_like(initial), []
    run = scaled.run(words, 0, 1, initial[words.order], emission, steps, False)
    runs, messages = [run], []
    at_once = _at_once(words, emission, steps, keeps)
    if at_once:
        runs.append(parallel.run(words, run, emission, steps))
    for first, last in [] if at_once else _stretches(words.duration, keeps):
        if keeps == "some":
            messages.append(run.message[: words.sizes[first]])
        run = scaled.run(words, first, last, run.message, emission, steps, keeps == "all")
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
    wanted: tuple[bool, ...],
    kept: list[Tensor],
    final: Tensor,
) -> list[Tensor | None]:
    """Gradients in the initial distributions, the emissions, the band and the matrices, from beta at the end."""
    in_initial, in_emission, in_band, *in_matrices = wanted
    in_first = in_matrices[0] if len(in_matrices) == 2 else False
    needs = (in_emission, in_first, bool(in_matrices) and in_matrices[-1], in_band)
    work, carried = backwards.start(words, final[words.order], emission, moving, needs)
    found = torch.zeros_like(initial)
    if words.duration:
        scales, *messages = kept
        at_once = _at_once(words, emission, moving, keeps)
        if at_once:
            carried = _swept(work, messages[0], scales[words.sizes[0] :])
        stretches = [] if at_once else _stretches(words.duration, keeps)
        for (first, last), message in zip(reversed(stretches), reversed(messages), strict=not at_once):
            if keeps == "some":
                run = scaled.run(words, first, last, message, emission, moving, True)
                message = run.incoming if run.incoming is not None else message
            some = scales[words.offsets[first] : words.offsets[last]]
            carried = backwards.retrace(work, first, last, message, some, carried)
        beginning = words.order[: words.sizes[0]]
        carried = backwards.retrace(work, 0, 1, initial[beginning], scales[: words.sizes[0]], carried)
        found[beginning] = carried.q
    into = work.steps_gradient
    blocks = None if into.blocks is None or band is None else bands.from_blocks(into.blocks, band)
    in_emission_too = work.emission_gradient if in_emission else None
    return [
        found if in_initial else None,
        in_emission_too,
        blocks,
        *(into.first, into.last)[2 - len(in_matrices) :],
    ]


def _swept(work: backwards.Backward, incoming: Tensor, scales: Tensor) -> backwards.Carried:
    """Add what all words but the first ones give to the gradients; what goes on to the first ones."""
    first, going_on = work.lanes.sizes[:2]
    etas = parallel.messages_back(
        work.lanes, work.final[:going_on], incoming, scales, work.emission, work.steps
    )
    backwards.sweep(work, incoming, scales, etas[first:])
    return backwards.Carried(work.final[:0], etas[:going_on])


def _reference_gradients(
    words: Tensor,
    lengths: Tensor,
    scores: list[Tensor],
    blocks: Blocks | None,
    wanted: tuple[bool, ...],
    evidence: Tensor,
    last: Tensor,
) -> list[Tensor | None]:
    """The same through the reference: with a graph if somebody asks for one, otherwise with little memory."""
    graph = torch.is_grad_enabled()
    with torch.enable_grad():
        if not graph:
            scores = [score if score is None else score.detach().requires_grad_() for score in scores]
        initial, emission, band, *matrices = scores
        table = emission if blocks is None else blocks.spread(emission)
        value = reference.log_evidence(words, lengths, initial, table, tuple(matrices), band, not graph)
        possible = value[0] > -torch.inf
        total = torch.where(possible, value[0] * evidence, 0.0).sum() + (value[1] * last).sum()
        leaves = [score for score, want in zip(scores, wanted, strict=True) if want]
        if not total.requires_grad:
            found = tuple(map(torch.zeros_like, leaves))
        else:
            found = torch.autograd.grad(total, leaves, create_graph=graph, materialize_grads=True)
    # In probabilities next to 0 they may overflow, and infinity times such a probability would be no number.
    each = (gradient.masked_fill(gradient.isinf(), 0.0) for gradient in found)
    return [next(each) if want else None for want in wanted]
