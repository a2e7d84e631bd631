"""A model on a corpus that it has not learned from: how good it is, how sure that is, and how fast."""

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
"""Sentences that are predicted before time is taken: the first ones load kernels."""


@dataclass(frozen=True)
class Trial:
    """What a model reached on a corpus, and how long it took.

    Attributes:
        name: Of the corpus.
        sentences: Their number.
        words: Their number.
        seconds: How long it took to predict all of them.
        scores: By name; in percent where the name says nothing else.
        intervals: Their 95 % intervals, if the scores can be counted by sentences.
        machine: What it ran on.
    """

    name: str
    sentences: int
    words: int
    seconds: float
    scores: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]
    machine: str


def tried(model: Model, sentences: Iterable[Sentence], name: str) -> Trial:
    """Measures a model and its speed.

    Args:
        model: The model.
        sentences: A corpus with gold annotation.
        name: Of the corpus.

    Raises:
        DataError: If the corpus holds no sentence, or as for `measure`.
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
    """What a model computes on."""
    if model.device.type == "cuda":
        return torch.cuda.get_device_name(model.device)
    threads = torch.get_num_threads()
    return f"{_processor()}, {threads} thread{'s' if threads > 1 else ''}"


def _processor() -> str:
    """Return the name of the processor, which Python does not tell on Linux."""
    about = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*:\s*(.+)$", about.read_text(), re.MULTILINE) if about.exists() else None
    return found.group(1) if found else platform.processor() or platform.machine()
