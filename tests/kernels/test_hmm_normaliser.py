"""Normalisers in parts, against the table of all states and words."""

import math

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from strukt.kernels.hmm import normaliser
from strukt.kernels.hmm.normaliser import log_totals


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
