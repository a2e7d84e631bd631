"""Small models that the command line does not train, and how they answer a question.

Each is a function that saves a model into a folder, and one that loads it there and returns its answers.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from strukt import HMM


@dataclass(frozen=True)
class Object:
    """A kind of model.

    Attributes:
        packages: Packages that it needs beside those of the core.
        save: Makes and saves a model.
        answers: Loads it, and returns labels and numbers by name.
    """

    packages: tuple[str, ...]
    save: Callable[[Path], None]
    answers: Callable[[Path], dict[str, Any]]


def _save_hmm(folder: Path) -> None:
    from tests.structures.hmm.enumerated_hmm import model, model_of_vectors

    folder.mkdir(parents=True)
    model("dense", v=5).save(folder / "words.safetensors")
    model_of_vectors("diagonal").save(folder / "vectors.safetensors")


def _answers_of_hmm(folder: Path) -> dict[str, Any]:
    words, vectors = (HMM.load(folder / f"{name}.safetensors") for name in ("words", "vectors"))
    x = torch.tensor([[0, 3, 1, 4], [2, 2, 0, 1]])
    observed = torch.linspace(-1, 1, 6, dtype=vectors.initial.dtype).reshape(1, 3, 2)
    return {
        "log_prob": words.log_prob(x).tolist(),
        "path": words.viterbi(x)[0].tolist(),
        "log_prob of vectors": vectors.log_prob(observed).tolist(),
    }


def _sequences(count: int) -> list[list[dict[str, Any]]]:
    generator = random.Random(count)
    return [
        [{"word": generator.choice("abcd"), "place": 0.1 * place} for place in range(generator.randint(1, 6))]
        for _ in range(count)
    ]


def _save_classifier(folder: Path) -> None:
    from strukt.sklearn import ChainClassifier

    sequences = _sequences(20)
    tags = [["V" if one["word"] == "a" else "O" for one in sequence] for sequence in sequences]
    ChainClassifier().fit(sequences, tags).save(folder)


def _answers_of_classifier(folder: Path) -> dict[str, Any]:
    from strukt.sklearn import ChainClassifier

    model = ChainClassifier.load(folder)
    sequences = _sequences(4)
    return {
        "tags": [list(map(str, one)) for one in model.predict(sequences)],
        "marginals": [[one["V"] for one in each] for each in model.predict_marginals(sequences)],
    }


def _save_head(folder: Path) -> None:
    from tests.hf import tiny_heads

    tiny_heads.model("crf").save_pretrained(folder)


def _answers_of_head(folder: Path) -> dict[str, Any]:
    from tests.hf import tiny_heads

    from strukt.hf import StructuredHead

    inputs = tiny_heads.batch("crf")
    with torch.no_grad():
        output = StructuredHead.from_pretrained(folder)(**inputs)
    return {"loss": output.loss.item()}


OBJECTS = {
    "object-hmm": Object((), _save_hmm, _answers_of_hmm),
    "object-chain-classifier": Object(("sklearn",), _save_classifier, _answers_of_classifier),
    "object-structured-head": Object(("transformers",), _save_head, _answers_of_head),
}
"""All kinds, by the names of their folders."""
