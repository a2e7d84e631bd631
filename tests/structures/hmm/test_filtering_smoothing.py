"""Distributions of states say in probability space what they say in log space, however sharp the scores are."""

import math

import pytest
import torch
from tests.structures.hmm.test_forward_backward import KINDS, scores, sentences, split
from torch.autograd import grad

from strukt.structures.hmm import filtering_smoothing, reference
from strukt.structures.hmm.reference import Chains


def in_logs(words, lengths, values):
    chains = Chains(words, lengths, *values)
    return *filtering_smoothing._filtered_in_logs(chains), filtering_smoothing._smoothed_in_logs(chains)


def in_probabilities(words, lengths, values):
    chains = Chains(words, lengths, *values)
    return *filtering_smoothing.filtered(chains), filtering_smoothing.smoothed(chains)


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
    found = filtering_smoothing.smoothed(Chains(each, lengths, initial, rows.detach(), matrices, band))
    within = (torch.arange(6) < lengths[:, None]).unsqueeze(2)
    assert torch.allclose(found, counts.view(4, 6, 7) * within, atol=1e-10)
