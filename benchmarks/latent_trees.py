"""A training step of a network whose hidden layer is a dependency tree: time and number of trees, by estimator."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from statistics import median

import torch
from torch import Tensor, nn

from benchmarks.page import machine
from benchmarks.prediction import seconds
from benchmarks.report import duration, table

HEADER = ["estimator", "training step", "times marginals", "the layer alone", "times marginals", "trees"]
SIZE, CLASSES = 128, 2


class Classifier(nn.Module):
    """A classifier of sentences: bidirectional LSTM, scores of arcs, latent trees, and a graph convolution."""

    def __init__(self, estimator: str) -> None:
        super().__init__()
        from strukt.nn import LatentStructure, TreeGCN
        from strukt.nn.latent_trees import TreeScorer

        self.encoder = nn.LSTM(SIZE, SIZE // 2, batch_first=True, bidirectional=True)
        self.reader, self.classes = TreeGCN(SIZE, SIZE), nn.Linear(SIZE, CLASSES)
        self.scorer = TreeScorer(SIZE, 100)
        self.latent = LatentStructure(
            self.read, lambda _, lengths, vectors: self.scorer(vectors, lengths), estimator
        )

    def read(self, arcs: Tensor, projected: Tensor, lengths: Tensor, _: Tensor) -> Tensor:
        """Return the log-probabilities of the classes for each tree."""
        return self.classes(self.reader.read(projected, arcs, lengths).mean(1)).log_softmax(-1)

    def forward(self, words: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Return the mean loss if the class is 0, and the number of trees of each item."""
        vectors, _ = self.encoder(words)
        mixture = self.latent(self.reader.project(vectors, lengths), lengths, vectors.detach())
        return -mixture.log_likelihood(mixture.outputs[:, 0]).mean(), mixture.counts


def training_step(estimator: str, batch: int, n: int) -> Callable[[], Tensor]:
    """Return a function that makes a training step, with the optimizer, and returns the numbers of trees."""
    torch.manual_seed(0)
    words, lengths = torch.randn(batch, n, SIZE), torch.full((batch,), n)
    model = Classifier(estimator)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.0)  # so that all steps are the same

    def step() -> Tensor:
        loss, counts = model(words, lengths)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return counts

    return step


def layer(estimator: str, batch: int, n: int) -> Callable[[], Tensor]:
    """Return a function that runs the layer alone, forwards and backwards, and returns the numbers of trees."""
    from strukt.distributions import NonProjectiveTree
    from strukt.nn import LatentStructure

    torch.manual_seed(0)
    arcs, direction = torch.randn(batch, n, n + 1), torch.randn(n, n + 1)
    latent = LatentStructure(lambda parts, _: (parts * direction).sum((1, 2)), NonProjectiveTree, estimator)

    def step() -> Tensor:
        mixture = latent(arcs.clone().requires_grad_())
        mixture.expected(mixture.outputs).sum().backward()
        return mixture.counts

    return step


def median_seconds(step: Callable[[], Tensor], rounds: int) -> float:
    """Return the median seconds of a step, after a first run."""
    step()
    return median(seconds(step) for _ in range(rounds))


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line, measure and print."""
    from strukt.nn.estimators import ESTIMATORS

    parser = argparse.ArgumentParser(prog="python -m benchmarks.latent_trees", description=__doc__)
    parser.add_argument("--batch", type=int, default=16, help="number of sentences (16)")
    parser.add_argument("--words", type=int, default=20, help="number of words of each sentence (20)")
    parser.add_argument("--rounds", type=int, default=50, help="number of runs, of which the median is taken (50)")
    options = parser.parse_args(arguments)
    heading, size = machine(1), (options.batch, options.words)
    torch.set_num_threads(1)
    steps = {name: training_step(name, *size) for name in ESTIMATORS}
    layers = {name: layer(name, *size) for name in ESTIMATORS}
    whole, alone = (
        {name: median_seconds(step, options.rounds) for name, step in each.items()}
        for each in (steps, layers)
    )
    rows = [
        [
            name,
            duration(whole[name]),
            f"{whole[name] / whole['marginals']:.1f}",
            duration(alone[name]),
            f"{alone[name] / alone['marginals']:.1f}",
            f"{steps[name]().double().mean().item():.1f}",
        ]
        for name in ESTIMATORS
    ]
    print(f"{heading}\n\n{table(HEADER, rows)}")


if __name__ == "__main__":
    main()
