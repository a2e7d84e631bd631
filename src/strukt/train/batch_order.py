"""The order of the training batches, as a function of the progress alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle, islice

from strukt.data.batching import batches
from strukt.data.sentence import Sentence
from strukt.tasks.common.config import TrainerConfig
from strukt.train.checkpoints import Progress


class Batches:
    """The remaining batches of an epoch; each process iterates over its share.

    Args:
        sentences: The training corpus.
        sizes: The size of each sentence, as returned by `Model.sizes`.
        config: `tokens`, `sentences` and `seed` are read: the batch size and the random order.
        progress: The epoch, and the number of its batches to skip; read at the start of each iteration.
        rank: Index of this process, from 0.
        processes: Number of processes.
    """

    def __init__(
        self,
        sentences: Sequence[Sentence],
        sizes: Sequence[int],
        config: TrainerConfig,
        progress: Progress,
        rank: int = 0,
        processes: int = 1,
    ) -> None:
        self.sentences = sentences
        self.sizes = sizes
        self.config = config
        self.progress = progress
        self.rank = rank
        self.processes = processes

    def order(self, epoch: int) -> list[list[int]]:
        """Return all batches of this process in an epoch, as lists of indices of sentences.

        All processes have equally many batches: if necessary, the first ones of the epoch are repeated at its end.

        Args:
            epoch: The epoch, counted from 0.
        """
        order = batches(
            self.sizes, self.config.tokens, self.config.seed, epoch, self.config.sentences or None
        )
        # Batches are repeated, from the first one on, if the last round would leave processes without one.
        rounds = -(-len(order) // self.processes)
        return list(islice(cycle(order), rounds * self.processes))[self.rank :: self.processes]

    def __iter__(self) -> Iterator[list[Sentence]]:
        for indices in self.order(self.progress.epoch)[self.progress.batch :]:
            yield [self.sentences[index] for index in indices]
