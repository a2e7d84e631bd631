"""Distributions of states say in probability space what they say in log space, however sharp the scores are."""

import math

import pytest
import torch
from scipy.stats import chisquare
from tests.structures.hmm.test_forward_backward import KINDS, scores, sentences, split
from torch.autograd import grad

from strukt.structures.hmm import filtering_smoothing, reference, sampling
from strukt.structures.hmm.steps import columns, steps


def in_logs(words, lengths, values):
    states, ahead = filtering_smoothing._filtered_in_logs(words, lengths, *values)
    return states, ahead, filtering_smoothing._smoothed_in_logs(words, lengths, *values)


def in_probabilities(words, lengths, values):
    tables = filtering_smoothing.filtered(words, lengths, *values)
    return *tables, filtering_smoothing.smoothed(words, lengths, *values)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sharp", [1.0, 60.0, 500.0])
def test_tables_agree_with_log_space(kind, sharp):
    words, lengths = sentences()
    values = split(kind, scores(kind, sharp=sharp, scale=math.sqrt(sharp)))
    expected = in_logs(words, lengths, values)
    single = split(kind, scores(kind, sharp=sharp, scale=math.sqrt(sharp), dtype=torch.float32))
    for given, tolerance in ((values, 1e-9), (single, 2e-3)):
        for found, true in zip(in_probabilities(words, lengths, given), expected, strict=True):
            assert torch.allclose(found.double(), true, atol=tolerance)


@pytest.mark.parametrize("kind", KINDS)
def test_tables_of_a_batch_with_an_impossible_sentence(kind):
    words, lengths = torch.tensor([[0, 1, 2], [0, 3, 2], [2, 1, 3]]), torch.tensor([3, 3, 2])
    initial, emission, *rest = scores(kind, 3)
    emission[3] = -math.inf
    leaves = [value.requires_grad_() for value in (initial, emission, *rest)]
    states, ahead, smooth = in_probabilities(words, lengths, split(kind, leaves))
    assert torch.allclose(states.sum(2).detach(), torch.tensor([[1.0, 1, 1], [1, 0, 0], [1, 1, 0]]).double())
    assert torch.allclose(ahead.sum(2).detach(), torch.tensor([[1.0, 1, 1], [1, 1, 0], [1, 1, 0]]).double())
    assert torch.allclose(smooth.sum(2).detach(), torch.tensor([[1.0, 1, 1], [0, 0, 0], [1, 1, 0]]).double())
    for table in (states, ahead, smooth):
        found = grad((table * torch.arange(7)).sum(), leaves, retain_graph=True, materialize_grads=True)
        assert all(value.isfinite().all() for value in found)


@pytest.mark.parametrize("kind", KINDS)
def test_smoothing_is_the_gradient_of_the_evidence(kind):
    words, lengths = sentences()
    initial, _, matrices, band = split(kind, scores(kind))
    table = scores(kind)[1]
    each = torch.where(torch.arange(6) < lengths[:, None], torch.arange(24).view(4, 6), 0)
    rows = table[words.clamp(min=0).flatten()].requires_grad_()
    evidence, _ = reference.log_evidence(each, lengths, initial, rows, matrices, band)
    (counts,) = grad(evidence.sum(), rows)
    found = filtering_smoothing.smoothed(each, lengths, initial, rows.detach(), matrices, band)
    within = (torch.arange(6) < lengths[:, None]).unsqueeze(2)
    assert torch.allclose(found, counts.view(4, 6, 7) * within, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_next_states_have_their_frequencies(kind):
    torch.manual_seed(0)
    _, _, matrices, band = split(kind, scores(kind))
    states = torch.arange(7).repeat_interleave(2000)
    drawn = sampling.next_states(states, matrices, band).view(7, 2000)
    moving = steps(matrices, band)
    expected = 2000 * moving.advance(moving.message(torch.eye(7, dtype=torch.float64)))
    for state in range(7):
        counts = torch.bincount(drawn[state], minlength=7)
        likely = expected[state] > 5
        assert (counts[expected[state] == 0] == 0).all()
        assert (
            chisquare(counts[likely].numpy(), expected[state][likely].numpy(), sum_check=False).pvalue > 1e-4
        )


@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_those_of_the_matrix(kind):
    _, _, matrices, band = split(kind, scores(kind))
    moving = steps(matrices, band)
    matrix = moving.advance(moving.message(torch.eye(7, dtype=torch.float64)))
    targets = torch.tensor([6, 0, 3, 3])
    assert torch.allclose(columns(moving, band, targets), matrix.mT[targets])


@pytest.mark.parametrize("kind", KINDS)
def test_steps_against_time_in_logs(kind):
    _, _, matrices, band = split(kind, scores(kind))
    moving = steps(matrices, band)
    matrix = moving.advance(moving.message(torch.eye(7, dtype=torch.float64)))
    later = torch.randn(3, 7, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = reference.retreat(later, reference.log_factors(matrices, band), band is not None)
    assert torch.allclose(found.exp(), later.exp() @ matrix.mT)
