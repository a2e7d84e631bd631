"""Hidden Markov models of words that come from one block of states each: the numbers of the full table."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.structures.hmm.test_forward_backward import answers, assert_same, normal, sentences
from torch.autograd import gradcheck, gradgradcheck

from strukt.structures.hmm import reference
from strukt.structures.hmm.blocked_forward import Blocks
from strukt.structures.hmm.forward_backward import log_evidence


def scores(kind, batch=4, b=3, k=2, r=3, v=5, scale=1.0, dtype=torch.float64):
    """Initial distributions, emissions of the states of the own block, and matrices."""
    z = b * k
    initial = (scale * normal(batch, z, seed=1)).softmax(1)
    emission = (scale * normal(k, v, seed=2)).log_softmax(1).mT.contiguous()
    low_rank = (scale * normal(z, r, seed=3)).softmax(1), (scale * normal(r, z, seed=4)).softmax(1)
    matrices = ((scale * normal(z, z, seed=6)).softmax(1),) if kind == "dense" else low_rank
    return [part.to(dtype) for part in (initial, emission, *matrices)]


def blocks_of(b, v=5, seed=0):
    return Blocks(torch.randint(b, (v,), generator=torch.Generator().manual_seed(seed)), b)


def in_blocks(blocks):
    return lambda words, lengths, initial, emission, matrices, _: log_evidence(
        words, lengths, initial, emission, matrices, blocks=blocks
    )


def in_full(blocks):
    return lambda words, lengths, initial, emission, matrices, _: reference.log_evidence(
        words, lengths, initial, blocks.spread(emission), matrices, None
    )


KINDS = pytest.mark.parametrize("kind", ["dense", "low rank"])


@given(
    kind=st.sampled_from(["dense", "low rank"]),
    b=st.integers(1, 4),
    k=st.integers(1, 3),
    r=st.integers(1, 4),
    n=st.integers(0, 8),
    batch=st.integers(0, 4),
    scale=st.sampled_from([1.0, 10.0]),
    forbidden=st.booleans(),
    seed=st.integers(0, 9),
)
def test_blocks_equal_the_full_table(kind, b, k, r, n, batch, scale, forbidden, seed):
    words, lengths = sentences(batch, n, seed=seed)
    values, blocks = scores(kind, batch, b, k, r, scale=scale), blocks_of(b, seed=seed)
    if forbidden:
        values[1][seed % 5] = -math.inf
        values[1][0, 0] = -math.inf
    found, true = (
        answers(function(blocks), kind, values, words, lengths) for function in (in_blocks, in_full)
    )
    assert_same(found, true, 1e-9)


@KINDS
def test_single_precision_and_sentences_that_underflow(kind):
    words, lengths = sentences(4, 30)
    blocks = blocks_of(3)
    values = scores(kind, dtype=torch.float32)
    true = answers(in_full(blocks), kind, scores(kind), words, lengths)
    assert_same(answers(in_blocks(blocks), kind, values, words, lengths), true, 1e-3)
    sharp = scores(kind, scale=60.0, dtype=torch.float32)
    true = answers(in_full(blocks), kind, [part.double() for part in sharp], words, lengths)
    found = answers(in_blocks(blocks), kind, sharp, words, lengths)
    assert torch.allclose(found[0], true[0], rtol=1e-4)


@KINDS
def test_derivatives_of_both_orders(kind):
    words, lengths = sentences(3, 4)
    leaves = [value.requires_grad_() for value in scores(kind, 3)]

    def evidence(initial, emission, *matrices):
        return log_evidence(words, lengths, initial, emission, matrices, blocks=blocks_of(3))

    assert gradcheck(evidence, leaves)
    assert gradgradcheck(lambda *some: evidence(*some)[0], leaves)


@KINDS
def test_no_table_of_all_states_for_each_word(kind, monkeypatch):
    """Beside the matrices and their gradients, all tensors are those of one block."""
    b, k, r, v, n = 64, 8, 4, 50, 40
    values = [part.requires_grad_() for part in scores(kind, 2, b, k, r, v)]
    words, sizes = torch.randint(v, (2, n)), []
    bmm = torch.bmm
    monkeypatch.setattr(torch, "bmm", lambda *some: sizes.extend(map(torch.numel, some)) or bmm(*some))
    evidence, _ = log_evidence(
        words, torch.tensor([n, n]), values[0], values[1], tuple(values[2:]), blocks=blocks_of(b, v)
    )
    torch.autograd.grad(evidence.sum(), values)
    assert sizes
    assert max(sizes) <= 2 * k * max(k, r)
