"""Probabilities of words as notes."""

import pytest
import torch

from strukt.data import conllu
from strukt.tasks.common.prediction import noted


def test_the_probability_of_a_rare_word_is_not_noted_as_zero():
    probabilities = [0.5, 1.234e-6, 3e-20, 0.0]
    sentence = noted(conllu.from_forms(["a", "rare", "word", "never"]), torch.tensor(probabilities))
    notes = [float(misc.removeprefix("p=")) for misc in sentence.column("misc")]
    assert notes == pytest.approx(probabilities, rel=1e-3)
