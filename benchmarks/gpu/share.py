"""Training steps of default models on a GPU: the share of structured inference, and the speed on the CPU."""

from __future__ import annotations

import io
import random
from collections.abc import Callable, Iterator
from typing import Any

import torch

from benchmarks.gpu.clock import PATIENCE, Budget, Measured, attempt
from benchmarks.report import duration
from strukt.data import brackets, conllu

SENTENCES, WORDS = 100, 25
"""The sentences of a batch and the words of each: 2,500 words in all, the default of `trainer.tokens`."""

HEADER = (
    "default model", "training step", "its structure", "share of the structure", "words per second", "on the CPU",
)  # fmt: skip


def sentences() -> list[conllu.Sentence]:
    """Return random trees with random tags, the same in every process."""
    draw, text = random.Random(0), []
    for _ in range(SENTENCES):
        for word in range(1, WORDS + 1):
            head = draw.randrange(word)
            relation = f"r{draw.randrange(40)}" if word > 1 else "root"
            head = head if word == 1 or head else 1
            text.append(f"{word}\tw{draw.randrange(5000)}\t_\t_\tt{draw.randrange(45)}\t_\t{head}\t{relation}\t_\t_")
        text.append("")
    return list(conllu.read(io.StringIO("\n".join(text) + "\n")))


def phrases() -> list[brackets.Sentence]:
    """Return random binary trees with random labels, the same in every process."""
    draw = random.Random(0)

    def tree(words: int) -> str:
        if words == 1:
            return f"(t{draw.randrange(45)} w{draw.randrange(5000)})"
        left = draw.randrange(1, words)
        return f"(p{draw.randrange(25)} {tree(left)} {tree(words - left)})"

    text = "\n".join(f"(ROOT {tree(WORDS)})" for _ in range(SENTENCES))
    return list(brackets.read(io.BytesIO(text.encode())))


def models() -> Iterator[tuple[str, Any, Any]]:
    """Yield the default models by name, with random weights, and sentences to train them on."""
    from strukt.tasks import constituency, dependency, lm, tag
    from strukt.tasks.constituency.model import ConstituencyParser
    from strukt.tasks.dependency.model import Parser
    from strukt.tasks.lm.model import LanguageModel
    from strukt.tasks.tag.model import Tagger

    corpus, trees = sentences(), phrases()
    texts = [conllu.from_forms(sentence.forms) for sentence in corpus]
    yield "tag, criterion crf", Tagger.from_corpus(tag.Config(criterion="crf"), corpus), corpus
    yield "dependency", Parser.from_corpus(dependency.Config(), corpus), corpus
    yield "constituency", ConstituencyParser.from_corpus(constituency.Config(), trees), trees
    yield "lm", LanguageModel.from_corpus(lm.Config(), texts), texts


def lines(device: str, budget: Budget, told: Callable[[list[str]], None]) -> Iterator[list[str]]:
    """Yield a row of cells for each model: times in bfloat16, as in training, and on the CPU in float32."""
    for name, model, corpus in models():
        model.train()
        slow = attempt(step(model, model.collate(corpus), half=False), budget, PATIENCE)
        model.to(device)
        batch = model.collate(corpus).to(device)
        whole = attempt(step(model, batch, half=True), budget)
        part = attempt(structure(model, batch), budget) if hasattr(model, "distribution_of") else None
        row = [name, *_cells(whole, part), _speed(whole), _speed(slow)]
        told(row)
        yield row


def step(model: Any, batch: Any, half: bool) -> Callable[[], None]:
    """Return a function that computes the loss of a batch and its gradient, in bfloat16 if ``half``."""

    def action() -> None:
        model.zero_grad()
        with torch.autocast(model.device.type, torch.bfloat16, enabled=half):
            loss = model.loss(batch)
        loss.backward()

    return action


def structure(model: Any, batch: Any) -> Callable[[], Any]:
    """Return a function that computes the gradient of the mean log-probability of a batch's structures."""
    with torch.no_grad():
        shaped = model.distribution_of(batch)
    event = batch.targets["tags" if "tags" in batch.targets else "heads"]
    kind, scores = type(shaped), tuple(score.detach().requires_grad_() for score in shaped.scores)

    def action() -> Any:
        loss = -kind(*scores, lengths=batch.lengths).log_prob(event).mean()
        return torch.autograd.grad(loss, scores)

    return action


def _cells(whole: Measured | str, part: Measured | str | None) -> list[str]:
    """Return the times of a step and of its structure, and their ratio."""
    known = isinstance(whole, Measured) and isinstance(part, Measured)
    share = f"{100 * part.seconds / whole.seconds:.0f} %" if known else ""  # type: ignore[union-attr]
    cells = [duration(each.seconds) if isinstance(each, Measured) else each or "" for each in (whole, part)]
    return [*cells, share]


def _speed(spent: Measured | str) -> str:
    return spent if isinstance(spent, str) else f"{SENTENCES * WORDS / spent.seconds:,.0f}"
