"""Scores, confidence intervals and speed of a model on a test corpus."""

from __future__ import annotations

import platform
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from strukt.data.sentence import Sentence
from strukt.errors import DataError
from strukt.metrics.bootstrap import intervals
from strukt.tasks.common.model import Model
from strukt.tasks.common.sentence_model import SentenceModel

WARM_UP = 16
"""Number of sentences that are predicted before timing starts, because the first ones load kernels."""


@dataclass(frozen=True)
class Trial:
    """Scores and speed of a model on a corpus.

    Attributes:
        name: Name of the corpus.
        sentences: Number of sentences.
        words: Number of words.
        seconds: Time to predict all of them; for the tasks lm, mlm, sort and count, to evaluate them.
        scores: Scores by name; in per cent unless the name says otherwise.
        intervals: 95 % confidence intervals by name of the score; empty if the scores cannot be computed from
            counts per sentence.
        machine: The GPU, or the processor and its number of threads.

    Examples:
        >>> from strukt.train.trial import run_trial
        >>> from strukt.data import conllu
        >>> from strukt.tasks.tag.config import Config
        >>> from strukt.tasks.tag.model import Tagger
        >>> sentence = conllu.from_forms(["Dogs", "bark"]).annotated(xpos=["NNS", "VBP"])
        >>> trial = run_trial(Tagger.from_corpus(Config(), [sentence]), [sentence] * 10, "dev")
        >>> trial.sentences, trial.words, list(trial.scores), list(trial.intervals)
        (10, 20, ['accuracy'], ['accuracy'])
    """

    name: str
    sentences: int
    words: int
    seconds: float
    scores: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]
    machine: str


def run_trial(model: Model, sentences: Iterable[Sentence], name: str) -> Trial:
    """Measure the scores and the speed of a model.

    Args:
        model: A trained model.
        sentences: A corpus with gold annotation.
        name: Name of the corpus.

    Raises:
        DataError: If the corpus holds no sentence, or the model cannot be evaluated on it, for example because a
            sentence lacks gold annotation.
    """
    known = list(sentences)
    if not known:
        raise DataError("holds no sentence", name)
    model.measure(known[:WARM_UP])
    start = time.perf_counter()
    if isinstance(model, SentenceModel):
        outcomes = list(model.outcomes(known))
        seconds = time.perf_counter() - start
        scores = model.measured(outcomes).scores
        ends = intervals(lambda drawn: model.measured(drawn).scores, outcomes)
    else:
        scores, ends = model.evaluate(known), {}
        seconds = time.perf_counter() - start
    return Trial(name, len(known), sum(map(len, known)), seconds, scores, ends, machine(model))


def machine(model: Model) -> str:
    """Return the name of the GPU that a model computes on, or of the processor, with the number of threads."""
    if model.device.type == "cuda":
        return torch.cuda.get_device_name(model.device)
    threads = torch.get_num_threads()
    return f"{_processor()}, {threads} thread{'s' if threads > 1 else ''}"


def _processor() -> str:
    """Return the name of the processor; from /proc/cpuinfo on Linux, where Python does not know it."""
    about = Path("/proc/cpuinfo")
    match = re.search(r"^model name\s*:\s*(.+)$", about.read_text(), re.MULTILINE) if about.exists() else None
    return match.group(1) if match else platform.processor() or platform.machine()
