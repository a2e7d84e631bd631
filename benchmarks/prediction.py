"""The speed at which a saved model annotates a file, in batches and sentence by sentence, by stage."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import TYPE_CHECKING

import torch

from benchmarks.page import PageError, machine, publish, require_section
from benchmarks.report import milliseconds, table

if TYPE_CHECKING:
    from strukt.data.sentence import Sentence
    from strukt.tasks.common.structured_model import StructuredModel

PASSES = 3
STAGES = ("total", "encoder and scores", "inference")
SINGLES = 500  # sentences that are annotated one by one


@dataclass(frozen=True)
class Stages:
    """The seconds of a prediction by stage.

    Attributes:
        total: From sentences to annotated sentences.
        encoder: From sentences to scores.
        inference: From scores to the best structure.
    """

    total: float
    encoder: float
    inference: float

    @property
    def share(self) -> float:
        """The share of inference in the total."""
        return self.inference / self.total


def prediction_batches(model: StructuredModel, sentences: Sequence[Sentence]) -> Iterator[list[Sentence]]:
    """Yield the batches that `model.predict` makes."""
    from strukt.data.batching import batches
    from strukt.tasks.common.sentence_model import WINDOW

    for start in range(0, len(sentences), WINDOW):
        window = sentences[start : start + WINDOW]
        for part in batches(model.sizes(window), model.config.trainer.tokens):
            yield [window[index] for index in part]


def batch_stages(model: StructuredModel, sentences: Sequence[Sentence]) -> Stages:
    """Measure one pass over all sentences, in batches."""
    split = [split_stages(model, batch) for batch in prediction_batches(model, sentences)]
    total = seconds(lambda: list(model.predict(sentences)))
    return Stages(total, sum(encoder for encoder, _ in split), sum(inference for _, inference in split))


def single_stages(model: StructuredModel, sentence: Sentence) -> Stages:
    """Measure one sentence by itself."""
    return Stages(seconds(lambda: list(model.predict([sentence]))), *split_stages(model, [sentence]))


def split_stages(model: StructuredModel, sentences: Sequence[Sentence]) -> tuple[float, float]:
    """Measure the seconds of encoder and inference for one batch."""
    start = time.perf_counter()
    distribution = model.distribution(sentences)
    scored = time.perf_counter()
    with torch.no_grad():
        _ = distribution.mode
    return scored - start, time.perf_counter() - scored


def seconds(action: Callable[[], object]) -> float:
    """Return the seconds of one call."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def summarise(stages: Sequence[Stages], statistic: Callable[[list[float]], float]) -> Stages:
    """Return a statistic, such as the median, of the seconds of each stage."""
    columns = zip(*((one.total, one.encoder, one.inference) for one in stages), strict=True)
    return Stages(*(statistic(list(column)) for column in columns))


def percentile_95(values: list[float]) -> float:
    """Return the 95th percentile."""
    return quantiles(values, n=20, method="inclusive")[-1]


def rows(model: StructuredModel, sentences: Sequence[Sentence]) -> Iterator[list[str]]:
    """Yield the three rows of the table."""
    tokens = sum(len(sentence) for sentence in sentences)
    list(model.predict(sentences[:SINGLES]))  # compiles and allocates
    whole = summarise([batch_stages(model, sentences) for _ in range(PASSES)], median)
    per_thousand = Stages(*(1000 * part / tokens for part in (whole.total, whole.encoder, whole.inference)))
    yield [f"batches, 1000 tokens ({tokens / whole.total:,.0f} tokens/s)", *cells(per_thousand)]
    step = max(1, len(sentences) // SINGLES)
    singles = [single_stages(model, sentence) for sentence in sentences[::step][:SINGLES]]
    yield ["one sentence, median", *cells(summarise(singles, median))]
    yield ["one sentence, 95th percentile", *cells(summarise(singles, percentile_95))]


def cells(stages: Stages) -> list[str]:
    """Return the cells of a row: the times, and the share of inference."""
    times = map(milliseconds, (stages.total, stages.encoder, stages.inference))
    return [*times, f"{100 * stages.share:.1f}"]


def main() -> None:
    """Parse the command line, measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.prediction", description=__doc__)
    parser.add_argument("model", metavar="MODEL", help="folder of a saved model")
    parser.add_argument("file", metavar="FILE", help="corpus to annotate")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="threads of PyTorch")
    parser.add_argument("--output", help="page whose section 'prediction-TASK' is replaced")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)

    import strukt
    from strukt.data import corpus
    from strukt.errors import StruktError

    try:
        model = strukt.load(arguments.model)
        require_section(f"prediction-{model.task}", arguments.output)
        sentences = list(corpus.read(arguments.file))
        heading = machine(arguments.threads)
        header = [model.task, *(f"{name}, ms" for name in STAGES), "share of inference, %"]
        text = f"{heading}\n\n{table(header, rows(model, sentences))}"
        publish(text, f"prediction-{model.task}", arguments.output)
    except (StruktError, PageError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
