"""The models of Liu Ziyin et al. (2019) by name: what each is made of, and how many numbers it has."""

import pytest
import torch
from torch import nn

from strukt.cli.configuration import parse
from strukt.configurations import configurations
from strukt.data import conllu
from strukt.nn import (
    LSTM,
    RNN,
    AdditiveAttention,
    BiLSTM,
    JointPerceptron,
    MeanFieldAttention,
    VariationalAttention,
)
from strukt.tasks.common.ranges import require_valid
from strukt.tasks.count.model import ChunkCounter
from strukt.tasks.lm.model import LanguageModel
from strukt.tasks.sort.model import Sorter

MODELS = {"sort": Sorter, "count": ChunkCounter, "lm": LanguageModel}
SENTENCES = [conllu.from_forms(words.split()) for words in ("0 1 1 0", "1 0 1")]
PARTS = {
    "rnn": (RNN, nn.RNN, type(None)),
    "lstm": (LSTM, nn.LSTM, type(None)),
    "bilstm": (BiLSTM, nn.LSTM, type(None)),
    "attention": (LSTM, nn.LSTM, AdditiveAttention),
    "vae": (LSTM, nn.LSTM, VariationalAttention),
    "mfa-1": (LSTM, nn.LSTM, MeanFieldAttention),
    "mfa-5": (LSTM, nn.LSTM, MeanFieldAttention),
}


def model(name):
    task = name.partition("-")[0]
    config = parse(task, ["--config", f"published/{name}"]).config
    require_valid(config)
    torch.manual_seed(0)
    return MODELS[task].from_corpus(config, MODELS[task].trainable(config, SENTENCES))


def size(*modules):
    return sum(parameter.numel() for module in modules for parameter in module.parameters())


def test_each_table_has_its_models():
    names = {
        name.removeprefix("published/") for name, it in configurations().items() if "Liu Ziyin" in it.summary
    }
    numbers = {f"{task}-{kind}" for task in ("sort", "count") for kind in PARTS}
    assert names == numbers | {"lm-rnn", "lm-lstm", "lm-mfa"}


@pytest.mark.parametrize("kind", PARTS)
@pytest.mark.parametrize("task", ["sort", "count"])
def test_numbers_are_read_by_what_the_name_says(task, kind):
    network = model(f"{task}-{kind}").network.network
    assert (type(network.encoder), type(network.decoder), type(network.attention)) == PARTS[kind]
    has_attention = network.attention is not None
    assert network.input_feeding == has_attention
    assert not network.output_context
    assert has_attention or (network.beginning is None) == (kind != "bilstm")


@pytest.mark.parametrize("name", ["sort-mfa-1", "sort-mfa-5", "count-mfa-5", "lm-mfa"])
def test_mean_field_is_undamped_and_of_perceptrons(name):
    found = model(name)
    attention = found.source.attention if name == "lm-mfa" else found.network.network.attention
    assert isinstance(attention.unary, JointPerceptron)
    assert isinstance(attention.binary, JointPerceptron)
    assert (attention.damping, attention.tol) == (0.0, 1e-4)
    assert attention.iterations == (1 if name.endswith("1") else 5)


def test_language_models_have_equal_sizes():
    rnn, lstm, mfa = (model(f"lm-{kind}").source for kind in ("rnn", "lstm", "mfa"))
    assert {type(layer) for layer in rnn.layers} == {nn.RNN}
    assert {type(layer) for layer in lstm.layers} == {type(mfa.decoder)} == {nn.LSTM}
    d, r = 128, 16
    shared = size(rnn.vectors) + rnn.bias.numel()
    assert size(rnn) - shared == d * (2 * d + 2)
    assert size(lstm) - shared == 4 * d * (2 * d + 2)
    networks = 5 * d * r + 2 * (r + r + 1)  # of h, d and of h, h, d; biases and outputs
    assert size(mfa) - shared == 4 * d * (2 * d + 2) + 4 * d * (3 * d + 2) + networks


@pytest.mark.parametrize("name", ["sort-mfa-5", "sort-vae", "count-rnn", "lm-mfa"])
def test_losses_have_gradients_everywhere(name):
    found = model(name)
    found.loss(found.collate(SENTENCES)).backward()
    assert all(parameter.grad is not None for parameter in found.parameters())
