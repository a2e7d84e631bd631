"""The compiled loop over few states against steps of matrices, and against the reference in log space."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.structures.hmm.enumerated_hmm import model, normal

from strukt import HMM
from strukt.kernels import jit
from strukt.kernels.interpreted import interpreting
from strukt.structures.hmm import few_states, reference
from strukt.structures.hmm.forward_backward import log_evidence
from strukt.structures.hmm.lanes import lanes
from strukt.structures.hmm.steps import steps

pytestmark = pytest.mark.skipif(
    jit.UNAVAILABLE is not None, reason="without Numba there are but products of matrices"
)


def answers(batch, lengths, z, forbidden, seed, most, dtype=torch.float64):
    """Evidence, last states, and the gradients of a weighted sum of both."""
    generator = torch.Generator().manual_seed(seed)
    initial, matrix, emission = (
        normal(*shape, seed=seed + k).to(dtype) for k, shape in enumerate(((batch, z), (z, z), (7, z)))
    )
    matrix = matrix.masked_fill(torch.rand(z, z, generator=generator) < forbidden, -math.inf)
    matrix[:, 0] = 0.0
    emission = emission.masked_fill(torch.rand(7, z, generator=generator) < forbidden, -math.inf)
    leaves = [part.requires_grad_() for part in (initial.softmax(1), emission, matrix.softmax(1))]
    words = torch.randint(7, (batch, int(lengths.max())), generator=generator)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(few_states, "MOST", most)
        evidence, last = log_evidence(words, lengths, leaves[0], leaves[1], (leaves[2],))
        weights = normal(batch, z, seed=9).to(dtype)
        total = evidence[evidence > -math.inf].sum() + (weights * last).sum()
        return evidence, last, *torch.autograd.grad(total, leaves, materialize_grads=True)


@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=5).filter(any),
    st.integers(1, 9),
    st.sampled_from([0.0, 0.4]),
    st.integers(0, 99),
)
def test_the_loop_is_the_products_of_matrices(lengths, z, forbidden, seed):
    lengths = torch.tensor(lengths)
    loop, products = (answers(len(lengths), lengths, z, forbidden, seed, most) for most in (1 << 17, 0))
    for ours, theirs in zip(loop, products, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_and_single_precision(threads, monkeypatch):
    monkeypatch.setattr(jit, "thread_count", lambda batch, work: min(threads, batch))
    lengths = torch.tensor([40, 3, 0, 17, 40])
    double = answers(5, lengths, 4, 0.2, 0, 1 << 17)
    for ours, theirs in zip(answers(5, lengths, 4, 0.2, 0, 1 << 17, torch.float32), double, strict=True):
        torch.testing.assert_close(ours.double(), theirs, rtol=2e-4, atol=2e-4)


def test_it_is_used_and_runs_without_a_compiler(monkeypatch):
    hmm, x = model("dense"), torch.tensor([[0, 1, 3], [2, 2, 0]])
    expected = reference.log_evidence(
        x,
        torch.tensor([3, 3]),
        hmm.initial.softmax(0).expand(2, -1),
        hmm.emission.table(),
        hmm.transition.factors()[0],
        None,
    )[0]
    calls = []
    forward = few_states._forward
    monkeypatch.setattr(few_states, "_forward", lambda *given: (calls.append(1), forward.py_func(*given)))
    with interpreting():
        assert torch.allclose(hmm.log_prob(x), expected, rtol=1e-12)
    assert calls == [1]


def test_larger_steps_and_other_matrices_are_left_to_products():
    dense = model("dense")
    words = lanes(torch.zeros(20, 9, dtype=torch.int64), torch.full((20,), 9))

    def pays(matrices, band=None, storage=None, dtype=torch.float64):
        return few_states.pays(words, steps(matrices, band, storage), dtype)

    assert pays(dense.transition.factors()[0])
    assert pays((torch.eye(80, dtype=torch.float64),))
    assert not pays((torch.eye(100, dtype=torch.float64),))
    assert not pays((torch.eye(3, dtype=torch.float64),), storage=torch.bfloat16)
    for kind in ("low rank", "band", "low rank and band"):
        assert not pays(*model(kind).transition.factors())


def test_long_texts_keep_no_states_unless_there_is_a_gradient(monkeypatch):
    hmm, x = model("dense"), torch.zeros(1, 50, dtype=torch.int64)
    kept = []
    forward = few_states.forward
    monkeypatch.setattr(few_states, "forward", lambda *given: kept.append(forward(*given)) or kept[-1])
    value = hmm.log_prob(x)
    leaf = hmm.initial.clone().requires_grad_()
    assert torch.equal(HMM(leaf, hmm.transition, hmm.emission).log_prob(x), value)
    assert [len(parts) for _, _, parts in kept] == [0, 3]
