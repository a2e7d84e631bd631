"""Encoders and decoders: any attention between them, padding that counts for nothing, and steps one by one."""

from __future__ import annotations

import pytest
import torch

from strukt.nn import (
    LSTM,
    RNN,
    AdditiveAttention,
    BiLSTM,
    DotProductAttention,
    MeanFieldAttention,
    VariationalAttention,
)
from strukt.nn.encoder_decoder import EncoderDecoder
from strukt.nn.transduction import SequenceRegressor, SequenceTransducer

KINDS = {
    "none": lambda *sizes: None,
    "dot-product": DotProductAttention,
    "additive": AdditiveAttention,
    "variational": VariationalAttention,
    "mean-field 0": lambda *sizes: MeanFieldAttention(*sizes, iterations=0),
    "mean-field 5": lambda *sizes: MeanFieldAttention(*sizes, iterations=5, damping=0.2),
}
SYMBOLS = 6
LENGTHS = torch.tensor([5, 1, 3])


FED = ["additive, fed", "variational, fed", "mean-field 5, fed", "mean-field 5, fed and put out"]


@pytest.fixture(params=[*KINDS, *FED])
def kind(request):
    return request.param


def network(kind, encoder=BiLSTM, size=4):
    torch.manual_seed(0)
    keys = encoder(3, size)
    name, _, ways = kind.partition(", ")
    contexts = {"input_feeding": "fed" in ways, "output_context": ways != "fed"}
    return EncoderDecoder(keys, 3, size, KINDS[name](size, keys.size, size), **contexts).double().eval()


def transducer(kind, **options):
    return SequenceTransducer(SYMBOLS, 3, network(kind), **options).double()


def drawn(batch=3, n=5, t=4, seed=1):
    torch.manual_seed(seed)
    return torch.randn(batch, n, 3, dtype=torch.float64), torch.randn(batch, t, 3, dtype=torch.float64)


def symbols(batch=3, n=5, seed=1):
    torch.manual_seed(seed)
    return torch.randint(SYMBOLS, (batch, n))


@pytest.mark.parametrize("encoder", [LSTM, BiLSTM])
def test_sizes_are_those_of_states_and_contexts(kind, encoder):
    layer, (x, inputs) = network(kind, encoder), drawn()
    found = layer(x, LENGTHS, inputs)
    keys = layer.encoder.size
    assert found.outputs.shape == (3, 4, layer.size)
    put_out = kind != "none" and not kind.endswith(", fed")
    assert layer.size == 4 + keys * put_out
    torch.testing.assert_close(found.outputs[..., :4], found.hidden)
    torch.testing.assert_close(found.outputs[..., 4:], found.context if put_out else found.hidden[..., :0])


def test_contexts_are_what_the_states_attend_to(kind):
    layer, (x, inputs) = network(kind), drawn()
    memory, found = layer.encode(x, LENGTHS), layer(x, LENGTHS, inputs)
    before = torch.cat([memory.state.hidden.transpose(0, 1), found.hidden[:, :-1]], 1)
    queries = before if "fed" in kind else found.hidden
    torch.testing.assert_close(found.queries, queries)
    read = torch.cat([inputs, found.context], -1) if "fed" in kind else inputs
    expected = torch.nn.LSTM.forward(layer.decoder, read, tuple(memory.state))[0]
    torch.testing.assert_close(found.hidden, expected)
    if kind == "none":
        assert found.weights is None
        return
    attended = layer.attention(queries, layer.encoder(x, LENGTHS), LENGTHS)
    torch.testing.assert_close(found.context, attended.context)
    torch.testing.assert_close(found.weights, attended.weights)
    if "variational" in kind:
        torch.testing.assert_close(found.divergence, attended.divergence)
    else:
        assert found.divergence is None


def test_with_attention_the_decoder_begins_without_the_input(kind):
    layer = network(kind)
    states = [layer.encode(drawn(seed=seed)[0], LENGTHS).state for seed in (1, 2)]
    assert (kind == "none") == bool(states[0].hidden.any())
    assert (kind == "none") != torch.equal(states[0].cell, states[1].cell)


def test_without_attention_the_decoder_begins_at_both_ends():
    layer, (x, _) = network("none"), drawn()
    keys = layer.encoder(x, LENGTHS)
    ends = torch.stack(
        [torch.cat([row[0], row[length - 1]]) for row, length in zip(keys, LENGTHS, strict=True)]
    )
    state = layer.encode(x, LENGTHS).state
    torch.testing.assert_close(torch.cat([state.hidden[0], state.cell[0]], -1), layer.beginning(ends))


def test_a_batch_is_its_items_and_padding_counts_for_nothing(kind):
    layer, (x, inputs) = network(kind), drawn()
    padded = torch.cat([x, torch.zeros(3, 2, 3, dtype=torch.float64)], 1)
    for row, length in zip(padded, LENGTHS, strict=True):
        row[length:] = torch.nan
    padded.requires_grad_()
    together = layer(padded, LENGTHS, inputs)
    together.outputs.sum().backward()
    for index, length in enumerate(LENGTHS):
        one = slice(index, index + 1)
        alone = layer(x[one, :length], LENGTHS[one], inputs[one])
        torch.testing.assert_close(together.outputs[one], alone.outputs)
        assert not padded.grad[index, length:].any()
        assert padded.grad[index, :length].any()


def test_steps_one_by_one_are_steps_at_once(kind):
    layer, (x, inputs) = network(kind), drawn()
    memory, state, found = layer.encode(x, LENGTHS), None, []
    for step in inputs.split(1, 1):
        decoded = layer.decode(step, memory, state)
        state = decoded.state
        found.append(decoded.outputs)
    together = layer.decode(inputs, memory)
    torch.testing.assert_close(torch.cat(found, 1), together.outputs)
    torch.testing.assert_close(state.cell, together.state.cell)


@pytest.mark.parametrize(("batch", "n", "t"), [(0, 5, 4), (3, 0, 4), (3, 5, 0)])
def test_nothing_at_all(kind, batch, n, t):
    layer, (x, inputs) = network(kind), drawn(batch, n, t)
    found = layer(x, torch.full((batch,), n), inputs)
    assert found.outputs.shape == (batch, t, layer.size)
    assert found.outputs.isfinite().all()


def test_each_symbol_is_predicted_from_those_before_it(kind):
    layer, x, y = transducer(kind), symbols(), symbols(n=4, seed=2)
    found = layer(x, LENGTHS, y)
    assert found.shape == (3, 4, SYMBOLS)
    torch.testing.assert_close(found.exp().sum(-1), torch.ones(3, 4, dtype=torch.float64))
    changed = y.clone()
    changed[:, 2] = (y[:, 2] + 1) % SYMBOLS
    other = layer(x, LENGTHS, changed)
    torch.testing.assert_close(found[:, :3], other[:, :3])
    assert not torch.isclose(found[:, 3], other[:, 3]).all()


def test_greedy_takes_the_best_of_each_step(kind):
    layer, x = transducer(kind, dropout=0.5).eval(), symbols()
    found = layer.greedy(layer.read(x, LENGTHS), 4)
    log_probs = layer(x, LENGTHS, found.symbols)
    torch.testing.assert_close(found.log_probs, log_probs.max(-1).values)
    assert torch.equal(found.symbols, log_probs.argmax(-1))
    assert layer.greedy(layer.read(x, LENGTHS), 0).symbols.shape == (3, 0)
    with pytest.raises(ValueError, match="steps is -1; expected 0 or more"):
        layer.greedy(layer.read(x, LENGTHS), -1)


def test_symbols_in_the_padding_count_for_nothing(kind):
    x, other = symbols(), symbols(seed=3)
    inside = torch.arange(5) < LENGTHS[:, None]
    for layer in (transducer(kind), SequenceRegressor(SYMBOLS, 3, network(kind)).double()):
        arguments = (symbols(n=4),) if isinstance(layer, SequenceTransducer) else ()
        torch.testing.assert_close(
            layer(x, LENGTHS, *arguments), layer(torch.where(inside, x, other), LENGTHS, *arguments)
        )


@pytest.mark.parametrize("ways", ["", ", fed"])
def test_plain_recurrent_networks_decode_as_well(ways):
    for kind in ("none", f"additive{ways}"):
        lstm = network(kind, RNN)
        options = {"input_feeding": lstm.input_feeding, "output_context": not lstm.input_feeding}
        layer = EncoderDecoder(lstm.encoder, 3, 4, lstm.attention, **options, decoder="rnn").double()
        x, inputs = drawn()
        together = layer(x, LENGTHS, inputs)
        first = layer.decode(inputs[:, :1], layer.encode(x, LENGTHS))
        second = layer.decode(inputs[:, 1:], layer.encode(x, LENGTHS), first.state)
        torch.testing.assert_close(torch.cat([first.outputs, second.outputs], 1), together.outputs)
        assert together.state.cell.shape == (1, 3, 0)
        assert layer(x[:, :0], torch.zeros(3, dtype=torch.long), inputs).outputs.isfinite().all()


@pytest.mark.parametrize(
    ("encoder", "options", "message"),
    [
        (BiLSTM, {"start": "last"}, "hidden is 4, and the encoder has vectors of size 8"),
        (LSTM, {"start": "first"}, "start is 'first'; expected ends or last"),
        (LSTM, {"decoder": "gru"}, "decoder is 'gru'; expected lstm or rnn"),
        (LSTM, {"input_feeding": True}, "input_feeding is True without attention"),
        (
            LSTM,
            {"attention": AdditiveAttention(4, 4, 4), "output_context": False},
            "input_feeding and output_context are both False",
        ),
    ],
)
def test_options_that_do_not_fit_are_refused(encoder, options, message):
    with pytest.raises(ValueError, match=message):
        EncoderDecoder(encoder(3, 4), 3, 4, **options)
