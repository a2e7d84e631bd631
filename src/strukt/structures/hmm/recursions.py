"""The forward and backward passes of an HMM: one class for each algorithm that computes them."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass

import torch
from torch import Tensor

from strukt.structures.hmm import backward as backwards
from strukt.structures.hmm import band as bands
from strukt.structures.hmm import blocked_forward, few_states, parallel_scan, scaled_forward
from strukt.structures.hmm.blocked_forward import Blocks, Corners
from strukt.structures.hmm.lanes import Lanes
from strukt.structures.hmm.scaled_forward import Emissions, Run
from strukt.structures.hmm.steps import Steps


@dataclass(frozen=True)
class Recursion(abc.ABC):
    """The base class of algorithms for the log-probability of sentences and its gradient.

    Attributes:
        words: The words of the batch.
        initial: ``(batch, z)``, the probabilities of the first state.
        emission: The emissions of the words.
        keeps: The messages stored for the gradient: "all", "some", or "" for none.
    """

    words: Lanes
    initial: Tensor
    emission: Emissions
    keeps: str

    @abc.abstractmethod
    def forward(self) -> tuple[Tensor, Tensor, list[Tensor]]:
        """Return log-probabilities ``(batch,)``, last states' distributions ``(batch, z)``, and tensors to store.

        Log-probabilities are float64, and -inf also for sentences with a scale that underflows. The tensors to
        store are those that `gradients` takes.
        """

    @abc.abstractmethod
    def gradients(
        self, kept: list[Tensor], final: Tensor, requested: tuple[bool, ...]
    ) -> list[Tensor | None]:
        """Return the gradients with respect to initial distributions, emissions, band and matrices, in this order.

        Args:
            kept: The tensors that `forward` stored.
            final: ``(batch, z)``, beta at the last word of each sentence; see `strukt.structures.hmm.backward`.
            requested: Whether each of the gradients is needed; any other may be None.
        """


@dataclass(frozen=True)
class OverBlocks(Recursion):
    """The recursion for emissions in which each word belongs to one block of states."""

    blocks: Blocks
    corners: Corners

    def forward(self) -> tuple[Tensor, Tensor, list[Tensor]]:
        return blocked_forward.forward(self.words, self.blocks, self.initial, self.emission, self.corners)

    def gradients(
        self, kept: list[Tensor], final: Tensor, requested: tuple[bool, ...]
    ) -> list[Tensor | None]:
        inputs = self.words, self.blocks, self.emission, self.corners
        in_initial, in_emission, in_matrices = blocked_forward.gradients(*inputs, kept, final)
        return [in_initial, in_emission, None, *in_matrices]


@dataclass(frozen=True)
class OverFewStates(Recursion):
    """The compiled loop for small dense matrices ``(z, z)``.

    It stores the distribution of the state of each word given the words before it.
    """

    matrix: Tensor

    def forward(self) -> tuple[Tensor, Tensor, list[Tensor]]:
        keep = self.keeps == "all"
        return few_states.forward(self.words, self.initial, self.emission, self.matrix, keep)

    def gradients(
        self, kept: list[Tensor], final: Tensor, requested: tuple[bool, ...]
    ) -> list[Tensor | None]:
        in_initial, in_emission, in_matrix = few_states.gradients(self.words, self.matrix, kept, final)
        return [in_initial, in_emission, None, in_matrix]


@dataclass(frozen=True)
class OverTime(Recursion):
    """The recursion by one matrix product for each time, over stretches that start at a stored message."""

    steps: Steps
    band: Tensor | None

    def forward(self) -> tuple[Tensor, Tensor, list[Tensor]]:
        words, initial = self.words, self.initial
        if not words.duration:
            return initial.new_zeros(len(initial), dtype=torch.float64), torch.zeros_like(initial), []
        moving = self.steps.laid_out(len(initial))
        begin = scaled_forward.run(words, 0, 1, initial[words.order], self.emission, moving, False)
        runs, messages = self._continued(begin, moving)
        last = torch.zeros_like(initial)
        last[words.order[: words.sizes[0]]] = torch.cat([run.states for run in reversed(runs)])
        evidence = words.totals(torch.cat([run.logs for run in runs]))
        return evidence, last, [torch.cat([run.scales for run in runs]), *messages]

    def gradients(
        self, kept: list[Tensor], final: Tensor, requested: tuple[bool, ...]
    ) -> list[Tensor | None]:
        words, in_initial = self.words, torch.zeros_like(self.initial)
        needs_initial, needs_emission, needs_band, *needs_matrices = requested
        needs_first = needs_matrices[0] if len(needs_matrices) == 2 else False
        needs = (needs_emission, needs_first, bool(needs_matrices) and needs_matrices[-1], needs_band)
        work, carried = backwards.start(words, final[words.order], self.emission, self.steps, needs)
        if words.duration:
            scales, *messages = kept
            carried = self._retraced(work, scales, messages, carried)
            beginning = words.order[: words.sizes[0]]
            first_scales = scales[: words.sizes[0]]
            carried = backwards.retrace(work, 0, 1, self.initial[beginning], first_scales, carried)
            in_initial[beginning] = carried.q
        in_steps, band = work.steps_gradient, self.band
        blocks = None if in_steps.blocks is None or band is None else bands.from_blocks(in_steps.blocks, band)
        return [
            in_initial if needs_initial else None,
            work.emission_gradient if needs_emission else None,
            blocks,
            *(in_steps.first, in_steps.last)[2 - len(needs_matrices) :],
        ]

    def _continued(self, begin: Run, moving: Steps) -> tuple[list[Run], list[Tensor]]:
        """Continue the recursion after ``begin``, the run over the first words.

        Return the runs over all times, including ``begin``, and the messages to store.
        """
        runs, starts = [begin], []
        for first, last in self._stretches():
            starts.append(runs[-1].message[: self.words.sizes[first]])
            keep = self.keeps == "all"
            runs.append(scaled_forward.run(self.words, first, last, starts[-1], self.emission, moving, keep))
        if self.keeps == "some":
            return runs, starts
        return runs, [run.incoming for run in runs if run.incoming is not None]

    def _retraced(
        self,
        work: backwards.Backward,
        scales: Tensor,
        messages: list[Tensor],
        carried: backwards.Carried,
    ) -> backwards.Carried:
        """Run the backward recursion from the last words to the second; return the values at the second words."""
        words = self.words
        for (first, last), message in zip(reversed(self._stretches()), reversed(messages), strict=True):
            if self.keeps == "some":
                run = scaled_forward.run(words, first, last, message, self.emission, self.steps, True)
                message = run.incoming if run.incoming is not None else message
            some = scales[words.offsets[first] : words.offsets[last]]
            carried = backwards.retrace(work, first, last, message, some, carried)
        return carried

    def _stretches(self) -> list[tuple[int, int]]:
        """Return the stretches of time after the first word, each starting where a message is stored.

        They are pairs of the first time and the time after the last.
        """
        duration = self.words.duration
        size = max(math.isqrt(duration), 1) if self.keeps == "some" else max(duration, 1)
        return [(first, min(first + size, duration)) for first in range(1, duration, size)]


@dataclass(frozen=True)
class OverChunks(OverTime):
    """The recursion as a parallel scan over chunks of time; stores all messages."""

    def _continued(self, begin: Run, moving: Steps) -> tuple[list[Run], list[Tensor]]:
        run = parallel_scan.run(self.words, begin, self.emission, moving)
        return [begin, run], [] if run.incoming is None else [run.incoming]

    def _retraced(
        self,
        work: backwards.Backward,
        scales: Tensor,
        messages: list[Tensor],
        carried: backwards.Carried,
    ) -> backwards.Carried:
        first, going_on = work.lanes.sizes[:2]
        (incoming,) = messages
        etas = parallel_scan.messages_back(
            work.lanes, work.final[:going_on], incoming, scales[first:], work.emission, work.steps
        )
        backwards.sweep(work, incoming, scales[first:], etas[first:])
        return backwards.Carried(work.final[:0], etas[:going_on])
