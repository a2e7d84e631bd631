"""Normalisers in parts, against the table of all states and words."""

import math

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from strukt.kernels.semiring import logsumexp
from strukt.structures.hmm import normaliser, pieces
from strukt.structures.hmm.normaliser import log_totals


def inputs(z, v, d, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shapes = (z, d), (v, d), (v,)
    return [torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_() for shape in shapes]


def whole(states, words, bias):
    return (states @ words.mT + bias).logsumexp(1)


@pytest.mark.parametrize("chunk", [1, 7, 1 << 22])
@pytest.mark.parametrize("sizes", [(3, 11, 2), (1, 1, 1), (5, 4, 3)])
def test_totals_and_their_gradients_do_not_depend_on_the_parts(monkeypatch, chunk, sizes):
    monkeypatch.setattr(normaliser, "CHUNK", chunk)
    given = inputs(*sizes)
    weights = torch.arange(1.0, sizes[0] + 1, dtype=torch.float64)
    torch.testing.assert_close(log_totals(*given), whole(*given))
    found = torch.autograd.grad((log_totals(*given) * weights).sum(), given)
    expected = torch.autograd.grad((whole(*given) * weights).sum(), given)
    torch.testing.assert_close(found, expected)


def test_derivatives_of_both_orders(monkeypatch):
    monkeypatch.setattr(normaliser, "CHUNK", 6)
    assert gradcheck(log_totals, inputs(3, 5, 2))
    assert gradgradcheck(log_totals, inputs(3, 5, 2))


def test_forbidden_words_have_no_weight(monkeypatch):
    monkeypatch.setattr(normaliser, "CHUNK", 3)
    states, words, bias = inputs(3, 5, 2)
    some = bias.detach().clone()
    some[:2] = -math.inf
    some.requires_grad_()
    found = log_totals(states, words, some)
    torch.testing.assert_close(found, whole(states, words[2:], some[2:]))
    grads = torch.autograd.grad(found.sum(), (states, words, some))
    assert all(grad.isfinite().all() for grad in grads)
    assert grads[2][:2].eq(0).all()
    assert grads[2][2:].gt(0).all()


def test_the_table_is_never_whole(monkeypatch):
    """Of 40 states and 1,000 words no tensor is made that is larger than the inputs."""
    monkeypatch.setattr(normaliser, "CHUNK", 400)
    given = inputs(40, 1000, 2)
    largest = 0

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            nonlocal largest
            result = function(*args, **(kwargs or {}))
            largest = max(largest, result.numel() if isinstance(result, torch.Tensor) else 0)
            return result

    with Watch():
        log_totals(*given).sum().backward()
    assert largest <= 2000


def plain_columns(logits, words):
    total = torch.where((logits > -torch.inf).any(1), logsumexp(logits, 1), 0.0)
    return (logits[:, words] - total.unsqueeze(1)).mT


@pytest.mark.parametrize("cached", [1, 20, 10**6])
def test_columns_of_a_softmax_and_their_derivatives(cached, monkeypatch):
    monkeypatch.setattr(pieces, "CACHED", cached)
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(5, 9, generator=generator, dtype=torch.float64)
    logits[1, 3:] = logits[2, 0] = logits[:, 6] = logits[4] = -torch.inf
    words, weights = (
        torch.tensor([3, 0, 8, 0, 6]),
        torch.randn(5, 5, generator=generator, dtype=torch.float64),
    )
    found, expected = [], []
    for columns, answers in ((normaliser.log_softmax_columns, found), (plain_columns, expected)):
        leaf = logits.clone().requires_grad_()
        value = columns(leaf, words)
        total = torch.where(value > -torch.inf, value * weights, 0.0).sum()
        (first,) = torch.autograd.grad(total, leaf, create_graph=True)
        (cheap,) = torch.autograd.grad(
            torch.where(value > -torch.inf, value * weights, 0.0).sum(), leaf, retain_graph=True
        )
        (second,) = torch.autograd.grad((first * first.detach().sin()).sum(), leaf)
        answers += [value, first, cheap, second]
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)
