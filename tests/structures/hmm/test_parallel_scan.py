"""Long texts of small rank, in chunks of time at once: the numbers of the steps one after the other."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.structures.hmm.test_forward_backward import answers, assert_same, normal, scores, sentences

from strukt.structures.hmm import parallel_scan, reference
from strukt.structures.hmm.forward_backward import log_evidence
from strukt.structures.hmm.lanes import lanes
from strukt.structures.hmm.steps import steps


@pytest.fixture(scope="module", autouse=True)
def _at_once():
    """As if steps of Python took very long, so that even short texts go this way."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parallel_scan, "STEP", 1e12)
        yield


def long(values, words, lengths):
    """Whether a batch goes this way."""
    return parallel_scan.pays(lanes(words, lengths), len(values[1]), steps(tuple(values[2:4]), None))


def slopes(function, values, words, lengths):
    """Answers with slopes in logs: of entries that are 0, the reference in log space has no others."""
    evidence, last, *grads = answers(function, "low rank", values, words, lengths)
    in_logs = [grad * value for grad, value in zip(grads, values, strict=True)]
    return [evidence.nan_to_num(neginf=0.0), last, in_logs[0], grads[1], *in_logs[2:]]


@given(
    z=st.integers(1, 7),
    r=st.integers(1, 4),
    n=st.integers(16, 50),
    batch=st.integers(1, 4),
    scale=st.sampled_from([1.0, 5.0, 30.0, 200.0]),
    sharp=st.sampled_from([1.0, 10.0, 200.0]),
    seed=st.integers(0, 99),
)
def test_chunks_equal_the_reference(z, r, n, batch, scale, sharp, seed):
    words, lengths = sentences(batch, n, seed=seed)
    values = scores("low rank", batch, z, r, scale=scale, sharp=sharp)
    assert long(values, words, lengths)
    found, true = (
        slopes(some, values, words, lengths) for some in (log_evidence, reference.log_evidence)
    )
    assert_same(found, true, 1e-9)


@pytest.mark.parametrize("n", [16, 17, 100, 1000])
def test_single_precision(n):
    words, lengths = sentences(3, n)
    values = scores("low rank", 3, dtype=torch.float32)
    true = answers(reference.log_evidence, "low rank", scores("low rank", 3), words, lengths)
    assert_same(answers(log_evidence, "low rank", values, words, lengths), true, 2e-3)


def test_features_that_fall_behind_by_more_than_a_type_can_hold():
    """Two halves that never meet: over a chunk of 40 words one explains them 1e200 times better than the other."""
    half = torch.block_diag(torch.ones(3, 2), torch.ones(3, 2)) / 2
    landing = torch.block_diag(torch.ones(2, 3), torch.ones(2, 3)) / 3
    emission = torch.tensor([[1e-5, 1 - 1e-5]] * 3 + [[0.9, 0.1]] * 3).log().mT.contiguous()
    initial = torch.tensor([[1.0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1.0]])
    words, lengths = torch.zeros(2, 1600, dtype=torch.long), torch.full((2,), 1600)
    values = [initial, emission, half, landing]
    assert long(values, words, lengths)
    evidence, _ = log_evidence(words, lengths, initial, emission, (half, landing))
    assert torch.allclose(evidence, 1600 * torch.tensor([1e-5, 0.9]).double().log(), rtol=1e-5)
    found = answers(log_evidence, "low rank", values, words, lengths)
    assert all(part.isfinite().all() for part in found)


def test_impossible_words_and_features_without_a_word():
    """As in the reference: a sentence is lost, and its neighbours are not."""
    initial, emission, first, last = scores("low rank", batch=4)
    emission[0] = -math.inf
    emission[1, 2:] = -math.inf
    last[1] = 0.0
    last[1, 6] = 1.0
    words, lengths = sentences(4, 30, v=4)
    words = words.clamp(min=0) + 1
    words[2, 3] = 0
    lengths[2:] = torch.tensor([20, 29])
    values = [initial, emission, first, last]
    assert long(values, words, lengths)
    found, true = (
        slopes(some, values, words, lengths) for some in (log_evidence, reference.log_evidence)
    )
    evidence, _ = log_evidence(words, lengths, initial, emission, (first, last))
    assert (evidence == -math.inf).tolist() == [False, False, True, False]
    assert_same(found, true, 1e-9)


def test_what_goes_step_by_step():
    words, lengths = sentences(2, 20)
    values = scores("low rank", 2)
    assert long(values, words, lengths)
    found, (first, last) = lanes(words, lengths), values[2:4]
    assert not parallel_scan.pays(found, 5, steps((first @ last,), None))
    assert not parallel_scan.pays(found, 5, steps((first, last), normal(7, 3).exp()))
    assert not parallel_scan.pays(found, 5, steps((first, last), None, torch.bfloat16))
    assert not parallel_scan.pays(found, 5, steps((first.index_fill(0, torch.tensor([2]), 0.0), last), None))


@pytest.mark.parametrize(
    ("n", "batch", "z", "r", "v", "expected"),
    [
        (50, 16, 1024, 64, 800, False),
        (20_000, 1, 4096, 16, 200, True),
        (20_000, 64, 512, 256, 200, False),
        (2_000_000, 1, 128, 16, 200, True),
        (2_000_000, 1, 128, 16, 2_000_000, False),  # their matrices would not fit
    ],
)
def test_it_is_chosen_for_long_texts_of_small_rank(n, batch, z, r, v, expected, monkeypatch):
    monkeypatch.setattr(parallel_scan, "STEP", 3e6)
    some = lanes(torch.zeros(batch, n, dtype=torch.long), torch.full((batch,), n))
    factors = torch.full((z, r), 1 / r), torch.full((r, z), 1 / z)
    assert parallel_scan.pays(some, v, steps(factors, None)) == expected
