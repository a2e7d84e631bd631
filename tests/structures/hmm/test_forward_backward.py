"""The fused recursion of hidden Markov models says what plain log space says, for any shapes and any words."""

import functools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.scores import normal
from torch.autograd import grad, gradcheck, gradgradcheck

from strukt.structures.hmm import backward, reference
from strukt.structures.hmm.forward_backward import following, log_evidence

KINDS = ("dense", "low rank", "band", "low rank and band")


def scores(kind, batch=4, z=7, r=3, v=5, w=2, scale=1.0, dtype=torch.float64, sharp=1.0):
    """Initial distributions, emissions, matrices and band."""
    initial = (scale * normal(batch, z, seed=1)).softmax(1)
    emission = (sharp * normal(z, v, seed=2)).log_softmax(1).mT.contiguous()
    low_rank = ((scale * normal(z, r, seed=3)).softmax(1), (scale * normal(r, z, seed=4)).softmax(1))
    band = normal(z, 2 * w + 1, seed=5).exp()
    target = torch.arange(z).unsqueeze(1) + torch.arange(2 * w + 1) - w
    band[(target < 0) | (target >= z)] = 0.0
    band = band / band.sum(1, keepdim=True)
    matrices = {"dense": ((scale * normal(z, z, seed=6)).softmax(1),), "band": ()}.get(kind, low_rank)
    if kind == "low rank and band":
        band, matrices = band / 2, (matrices[0] / 2, matrices[1])
    found = [initial, emission, *matrices, *([band] if "band" in kind else [])]
    return [value.to(dtype) for value in found]


def split(kind, values):
    initial, emission, *rest = values
    band = rest.pop() if "band" in kind else None
    return initial, emission, tuple(rest), band


def sentences(batch=4, n=6, v=5, seed=0):
    """Words of any length with anything in the padding."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(n + 1, (batch,), generator=generator)
    lengths[:2] = torch.tensor([n, 0])[:batch]
    words = torch.randint(v, (batch, n), generator=generator)
    return torch.where(torch.arange(n) < lengths[:, None], words, -7), lengths


def answers(function, kind, values, words, lengths, directions=None):
    """Evidence, last states, and gradients in a direction."""
    leaves = [value.detach().clone().requires_grad_() for value in values]
    evidence, last = function(words, lengths, *split(kind, leaves))
    weights, slopes = directions or (normal(len(words), seed=8), normal(*last.shape, seed=9))
    possible = evidence > -math.inf
    total = (torch.where(possible, evidence, 0.0) * weights).sum() + (last * slopes.to(last.dtype)).sum()
    if not total.requires_grad:  # there are no words
        return [evidence, last.double(), *map(torch.zeros_like, leaves)]
    return [evidence.detach(), last.detach().double(), *grad(total, leaves, materialize_grads=True)]


def assert_same(found, true, tolerance):
    for one, other in zip(found, true, strict=True):
        assert not one.isnan().any()
        assert torch.allclose(one.double(), other.double(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("checkpoint", [False, True])
def test_fused_equals_reference(kind, checkpoint):
    words, lengths = sentences()
    fused = functools.partial(log_evidence, checkpoint=checkpoint)
    for dtype, tolerance in ((torch.float64, 1e-10), (torch.float32, 2e-4)):
        values = scores(kind, dtype=dtype)
        true = answers(reference.log_evidence, kind, scores(kind), words, lengths)
        assert_same(answers(fused, kind, values, words, lengths), true, tolerance)


@given(
    kind=st.sampled_from(KINDS),
    z=st.integers(1, 20),
    r=st.integers(1, 4),
    n=st.integers(0, 6),
    batch=st.integers(0, 4),
    w=st.integers(0, 3),
    forbidden=st.floats(0.0, 0.9),
    checkpoint=st.booleans(),
    seed=st.integers(0, 5),
)
def test_any_shape_and_any_zeros(kind, z, r, n, batch, w, forbidden, checkpoint, seed):
    """Words that cannot be have -inf and no gradient, as in the reference, and touch nobody else."""
    words, lengths = sentences(batch, n, seed=seed)
    initial, emission, *rest = scores(kind, batch, z, r, 5, w)
    zeros = torch.rand(emission.shape, generator=torch.Generator().manual_seed(seed)) < forbidden
    values = [initial, emission.masked_fill(zeros, -math.inf), *rest]
    fused = functools.partial(log_evidence, checkpoint=checkpoint)
    assert_same(
        answers(fused, kind, values, words, lengths),
        answers(reference.log_evidence, kind, values, words, lengths),
        1e-9,
    )


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_of_both_orders(kind):
    words, lengths = sentences(3, 4)
    leaves = [value.requires_grad_() for value in scores(kind, 3, 4, 2, 5, 1)]

    def value(*leaves):
        return log_evidence(words, lengths, *split(kind, leaves))

    assert gradcheck(value, leaves)
    assert gradgradcheck(value, leaves, fast_mode=True)


@pytest.mark.parametrize("kind", KINDS)
def test_many_chunks_are_one(kind, monkeypatch):
    """The backward pass computes any number of times at once."""
    words, lengths = sentences()
    whole = answers(log_evidence, kind, scores(kind), words, lengths)
    for numbers in (1, 40):
        monkeypatch.setattr(backward, "CHUNK", numbers)
        assert_same(answers(log_evidence, kind, scores(kind), words, lengths), whole, 1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_parts_one_after_the_other_are_the_whole(kind):
    words, lengths = sentences(4, 7)
    values = split(kind, scores(kind))
    initial, emission, matrices, band = values
    whole, last = log_evidence(words, lengths, *values)
    state, total = initial, torch.zeros(4, dtype=torch.float64)
    for first in range(0, 7, 3):
        within = (lengths - first).clamp(0, 3)
        part, end = log_evidence(words[:, first : first + 3], within, state, emission, matrices, band)
        total = total + part
        state = following(end, within, state, matrices, band)
    assert torch.allclose(total, whole, rtol=1e-12)
    assert torch.allclose(state, following(last, lengths, initial, matrices, band), rtol=1e-12)


@pytest.mark.parametrize("sharp", [20.0, 60.0, 200.0])
@pytest.mark.parametrize("kind", ["dense", "low rank"])
def test_sharp_emissions(kind, sharp):
    """The states that explain one word do not explain the next."""
    words, lengths = sentences(8, 20)
    values = scores(kind, 8, scale=6.0, sharp=sharp)
    true = answers(reference.log_evidence, kind, values, words, lengths)
    assert_same(answers(log_evidence, kind, values, words, lengths), true, 1e-6)
    values = scores(kind, 8, scale=6.0, sharp=sharp, dtype=torch.float32)
    single = answers(log_evidence, kind, values, words, lengths)
    assert torch.allclose(single[0], true[0], rtol=1e-4, atol=1e-3)
    assert all(value.isfinite().all() for value in single)


@pytest.mark.parametrize("kind", ["dense", "low rank"])
@pytest.mark.parametrize(("dtype", "chance"), [(torch.float32, 1e-30), (torch.float64, 1e-290)])
def test_sentences_whose_scales_underflow_are_computed_in_log_space(kind, dtype, chance, monkeypatch):
    """Each word has its own state, and states hardly ever change."""
    rare = torch.tensor([[1.0, chance], [chance, 1.0]], dtype=dtype)
    emission = torch.tensor([[0.0, -math.inf], [-math.inf, 0.0]], dtype=dtype)
    initial = torch.full((3, 2), 0.5, dtype=dtype)
    values = [initial, emission, *([rare] if kind == "dense" else [rare, torch.eye(2, dtype=dtype)])]
    words, lengths = torch.tensor([[0, 1, 0, 1], [0, 0, 0, 0], [1, 0, 9, 9]]), torch.tensor([4, 4, 2])
    found = answers(log_evidence, kind, values, words, lengths)
    expected = math.log(0.5) + math.log(rare[0, 1].item()) * torch.tensor(
        [3.0, 0.0, 1.0], dtype=torch.float64
    )
    assert torch.allclose(found[0], expected, rtol=1e-12)
    assert_same(found, answers(reference.log_evidence, kind, values, words, lengths), 1e-5)
    with monkeypatch.context() as patched:  # the fused recursion alone can say nothing of them
        patched.setattr(
            reference, "log_evidence", lambda words, *_: (torch.zeros(len(words)).double(), initial[:2])
        )
        alone, _ = log_evidence(words, lengths, *split(kind, values))
    assert alone.tolist() == [0.0, math.log(0.5), 0.0]


def test_an_impossible_word_has_no_gradient_and_no_neighbours():
    values = scores("low rank")
    values[1][3] = -math.inf
    words = torch.tensor([[0, 1, 2], [0, 3, 2], [3, 3, 3], [1, 1, 1]])
    lengths = torch.full((4,), 3)
    ones = torch.ones(4), torch.zeros(4, 7)
    evidence, last, *gradients = answers(log_evidence, "low rank", values, words, lengths, ones)
    assert (evidence > -math.inf).tolist() == [True, False, False, True]
    assert (last[1:3] == 0).all()
    assert (gradients[0][1:3] == 0).all()
    some = [values[0][::3], *values[1:]]
    ones = torch.ones(2), torch.zeros(2, 7)
    alone = answers(log_evidence, "low rank", some, words[::3], lengths[::3], ones)
    assert_same(gradients[1:], alone[3:], 1e-12)


def test_unreachable_states_that_would_explain_all_do_not_overflow():
    """A state that cannot be reached has a huge beta, in single precision beyond all numbers."""
    initial = torch.tensor([[1.0, 0.0]])
    values = [initial, torch.tensor([[-40.0, 0.0]]), torch.eye(2)]
    words = torch.zeros(1, 9, dtype=torch.int64)
    found = answers(log_evidence, "dense", values, words, torch.tensor([9]))
    assert torch.allclose(found[0], torch.tensor([-360.0], dtype=torch.float64))
    assert all(value.isfinite().all() for value in found)


def test_the_evidence_of_long_texts_adds_up_in_double_precision():
    values = scores("low rank", 1, dtype=torch.float32)
    words = torch.randint(5, (1, 20_000), generator=torch.Generator().manual_seed(0))
    lengths = torch.tensor([20_000])
    single, _ = log_evidence(words, lengths, *split("low rank", values))
    double, _ = log_evidence(words, lengths, *split("low rank", [value.double() for value in values]))
    assert abs(single - double) < 0.02


def test_factors_kept_in_half_precision():
    words, lengths = sentences(4, 40)
    values = scores("low rank", z=64, r=16, dtype=torch.float32)
    half = functools.partial(log_evidence, storage=torch.bfloat16)
    ones = torch.ones(4), torch.zeros(4, 64)
    true = answers(log_evidence, "low rank", values, words, lengths, ones)
    found = answers(half, "low rank", values, words, lengths, ones)
    assert (found[0] - true[0]).abs().max() < 1e-3 * lengths.max()
    assert not torch.equal(found[0], true[0])
    for gradient, exact in zip(found[2:], true[2:], strict=True):
        assert (gradient - exact).norm() < 0.03 * exact.norm()


def test_no_table_of_times_and_states(monkeypatch):
    """Neither pass makes a tensor of as many numbers as there are times and states."""
    monkeypatch.setattr(backward, "CHUNK", 1 << 15)
    z, n, r = 256, 500, 4
    values = scores("low rank", 1, z, r, dtype=torch.float32)
    largest = 0

    class Sizes(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            nonlocal largest
            found = function(*args, **(kwargs or {}))
            for value in found if isinstance(found, (tuple, list)) else [found]:
                if isinstance(value, torch.Tensor):
                    largest = max(largest, value.numel())
            return found

    words = torch.randint(5, (1, n), generator=torch.Generator().manual_seed(0))
    for checkpoint in (False, True):
        fused = functools.partial(log_evidence, checkpoint=checkpoint)
        with Sizes():
            answers(fused, "low rank", values, words, torch.tensor([n]))
    assert 0 < largest <= max(1 << 15, n * r) + z
