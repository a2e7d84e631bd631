"""Losses, gradients and predictions of taggers and parsers on a device where tensors of the CPU may not be."""

import io

import pytest
import torch
from tests.elsewhere import DEVICE, elsewhere

from strukt.data import conllu
from strukt.tasks import dependency, tag
from strukt.tasks.dependency.model import Parser
from strukt.tasks.tag.model import Tagger

LINES = ["1\tA\t_\t_\tX\t_\t0\troot\t_\t_", "2\tb\t_\t_\tY\t_\t1\tdet\t_\t_", "3\tc\t_\t_\tX\t_\t1\tdet\t_\t_"]

CASES = {
    "tag": (Tagger, tag.Config()),
    "tag by crf": (Tagger, tag.Config(criterion="crf")),
    "dependency": (Parser, dependency.Config()),
    "projective dependency": (Parser, dependency.Config(trees="projective")),
}


def corpus(size):
    text = "\n".join("\n".join(LINES[: 2 + place % 2]) + "\n" for place in range(size)) + "\n"
    return list(conllu.read(io.StringIO(text)))


def put(model, moved):
    """Parameters and buffers on the other device; `Module.to` would want one that PyTorch knows."""
    for module in model.modules():
        for name, value in module._parameters.items():
            module._parameters[name] = None if value is None else moved(value, requires_grad=True)
        for name, value in module._buffers.items():
            module._buffers[name] = None if value is None else moved(value)
        if isinstance(module, torch.nn.RNNBase):
            module._flat_weights = [getattr(module, name) for name in module._flat_weights_names]
    return model


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("tag", marks=pytest.mark.slow),
        "tag by crf",
        "dependency",
        pytest.param("projective dependency", marks=pytest.mark.slow),
    ],
)
def test_training_and_prediction(name):
    """Nothing of it is on the CPU, and what waits for the device is the same for few sentences and for many."""
    kind, config = CASES[name]
    model, waits = kind.from_corpus(config, corpus(2)), {}
    with elsewhere() as (moved, seen):
        put(model.train(), moved)
        loss = model.loss(model.collate(corpus(4)).to(DEVICE))
        gradients = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)
        assert {each.device for each in (loss, *gradients) if each is not None} == {DEVICE}
        for size in (4, 8):
            seen.clear()
            with torch.no_grad():
                predictions = model.eval().predict_batch(model.collate(corpus(size)).to(DEVICE), True)
            waits[size] = list(seen)
    assert len(predictions) == 8
    assert waits[4] == waits[8]
