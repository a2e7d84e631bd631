"""Learning-rate schedules and the order of the batches, as functions of the progress alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import cycle, islice

from strukt.data.batching import batches
from strukt.data.sentence import Sentence
from strukt.tasks.common.config import TrainerConfig
from strukt.train.checkpoints import Progress


def rate(done: float, warmup: float) -> float:
    """Return the learning rate as a fraction of the highest: a linear rise, then a linear fall to zero.

    Args:
        done: The fraction of the training run that is done, in [0, 1].
        warmup: The fraction during which the rate rises.

    Examples:
        >>> [rate(done, warmup=0.5) for done in (0.25, 0.5, 0.75, 1.0)]
        [0.5, 1.0, 0.5, 0.0]
    """
    if done < warmup:
        return done / warmup
    return max(1 - done, 0.0) / (1 - warmup) if warmup < 1 else 1.0


def halvings(qualities: Iterable[tuple[float, ...]], patience: int) -> int:
    """Count the halvings of the learning rate: one whenever `patience` epochs in a row brought no improvement.

    Args:
        qualities: The quality of each epoch, as a tuple; tuples are compared entry by entry.
        patience: Number of epochs without a new best one, after which the rate is halved.

    Examples:
        >>> halvings([(1.0,), (3.0,), (2.0,), (3.0,), (2.0,), (1.0,)], patience=2)
        2
    """
    best: tuple[float, ...] = ()
    waited, count = 0, 0
    for quality in qualities:
        waited = 0 if quality > best else waited + 1
        best = max(best, quality)
        if waited == patience:
            waited, count = 0, count + 1
    return count


class Batches:
    """The remaining batches of an epoch; each process iterates over its share.

    Args:
        sentences: The training corpus.
        sizes: The size of each sentence, as returned by `Model.sizes`.
        config: Batch size and seed.
        progress: The progress, read at the start of each iteration.
        rank: Index of this process.
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
        """Return the batches of this process, as lists of indices of sentences; all processes have equally many.

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
