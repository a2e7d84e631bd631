"""The share of structured inference in a training step of the default tagger and parser on a GPU."""

from __future__ import annotations

import io
import random
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from benchmarks.gpu.clock import Budget, attempt
from benchmarks.report import duration
from strukt.data import conllu

SENTENCES, WORDS = 100, 25
"""Of a batch: 2,500 words, as `trainer.tokens` has them."""

HEADER = ("default model", "training step", "of it the structure", "share", "words a second")


def sentences() -> list[conllu.Sentence]:
    """Random trees with random tags, the same in every process."""
    draw, text = random.Random(0), []
    for _ in range(SENTENCES):
        for word in range(1, WORDS + 1):
            head = draw.randrange(word)
            relation = f"r{draw.randrange(40)}" if word > 1 else "root"
            head = head if word == 1 or head else 1
            text.append(f"{word}\tw{draw.randrange(5000)}\t_\t_\tt{draw.randrange(45)}\t_\t{head}\t{relation}\t_\t_")
        text.append("")
    return list(conllu.read(io.StringIO("\n".join(text) + "\n")))


def models() -> Iterator[tuple[str, Any]]:
    """The default models for these sentences, with random weights."""
    from strukt.tasks import dependency, tag
    from strukt.tasks.dependency.model import Parser
    from strukt.tasks.tag.model import Tagger

    corpus = sentences()
    yield "tag, criterion crf", Tagger.from_corpus(tag.Config(criterion="crf"), corpus)
    yield "dependency", Parser.from_corpus(dependency.Config(), corpus)


def lines(device: str, budget: Budget, told: Callable[[list[str]], None]) -> Iterator[list[str]]:
    """A row of cells for each model, in bfloat16 as training has it."""
    for name, model in models():
        model.to(device).train()
        batch = model.collate(sentences()).to(device)
        with torch.no_grad():
            shaped = model.distribution_of(batch)
        event = batch.targets["tags" if "tags" in batch.targets else "heads"]
        kind, scores = type(shaped), tuple(score.detach().requires_grad_() for score in shaped.scores)

        def step(model: Any = model, batch: Any = batch) -> None:
            model.zero_grad()
            with torch.autocast(device, torch.bfloat16):
                loss = model.loss(batch)
            loss.backward()

        def structure(
            kind: Any = kind, scores: tuple[Tensor, ...] = scores, batch: Any = batch, event: Tensor = event
        ) -> Any:
            loss = -kind(*scores, lengths=batch.lengths).log_prob(event).mean()
            return torch.autograd.grad(loss, scores)

        whole, part = attempt(step, budget), attempt(structure, budget)
        if isinstance(whole, str) or isinstance(part, str):
            row = [name, str(whole), str(part), "", ""]
        else:
            words = SENTENCES * WORDS / whole.seconds
            share = f"{100 * part.seconds / whole.seconds:.0f} %"
            row = [name, duration(whole.seconds), duration(part.seconds), share, f"{words:,.0f}"]
        told(row)
        yield row
