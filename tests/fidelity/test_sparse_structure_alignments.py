"""Structured alignments (Niculae et al. 2018, Niculae and Martins 2020) against listed structures and loops."""

import numpy as np
import pytest
import torch
from tests.fidelity import dense_alignments as dense

from strukt.nn import DecomposableAttention, StructuredAttention

BONUS = 0.8
SHAPES = [(3, 4), (4, 3), (3, 3)]

ALIGNED = {
    "softmax": dense.both_softmaxes,
    "matching": lambda e: dense.both_shares(dense.matching(e)),
    "lp-matching": lambda e: dense.both_shares(dense.matching(e)),
    "lp-sequence": lambda e: dense.both_shares(dense.sequence(e, BONUS)),
}


def scores(n, m, seed=0, scale=1.0):
    return scale * np.random.default_rng(seed).normal(size=(n, m))


def attention(kind, **options):
    found = StructuredAttention(kind, tol=1e-9, **options).double()
    if found.bonus is not None:
        torch.nn.init.constant_(found.bonus, BONUS)
    return found


def weights_of(kind, e, **options):
    return attention(kind, **options)(torch.from_numpy(e[None])).weights[0].detach().numpy()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["matching", "lp-matching"])
def test_matchings_are_sparsemap_over_all_of_them(kind, shape):
    for seed in range(4):
        e = scores(*shape, seed)
        np.testing.assert_allclose(weights_of(kind, e), dense.matching(e), atol=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_sequences_earn_a_bonus_for_contiguous_pairs(shape):
    for seed in range(4):
        e = scores(*shape, seed)
        wanted = dense.sequence(e, BONUS)
        assert np.abs(wanted - dense.matching(e)).max() > 1e-3
        np.testing.assert_allclose(weights_of("lp-sequence", e), wanted, atol=1e-5)


@pytest.mark.parametrize("rounds", [1, 2, 3, 10])
def test_matchings_by_factors_stop_after_rounds_whether_these_agree_or_not(rounds):
    for seed in range(4):
        e = scores(3, 4, seed, 3.0)
        wanted = dense.matching_after(rounds, e)
        np.testing.assert_allclose(weights_of("lp-matching", e, iterations=rounds), wanted, atol=1e-9)
        assert np.abs(wanted - dense.matching(e)).max() > 1e-4


@pytest.mark.parametrize("apart", [1.0, 6.0])
def test_shares_are_of_at_least_a_hundredth(apart):
    e = torch.tensor([[[apart, 0.0], [apart, 0.0]]], dtype=torch.float64)
    weights, of_rows, of_columns = (part[0].detach().numpy() for part in StructuredAttention("crf")(e))
    assert (0 < weights[:, 1].sum() < 0.01) == (apart == 6.0)
    for found, wanted in zip((of_rows, of_columns), dense.both_shares(weights), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.thinned("kind", "scaled")
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("kind", ALIGNED)
def test_classes_are_those_of_decomposable_attention(kind, scaled):
    torch.manual_seed(0)
    model = DecomposableAttention(5, 6, 3, attention(kind), scaled_scores=scaled).double().eval()
    with torch.no_grad():
        for weight in model.attend.parameters():
            weight *= 2  # so that alignments differ by what is divided
    weights = {name: value.detach().numpy() for name, value in model.named_parameters()}
    for n, m in SHAPES:
        premise, hypothesis = scores(n, 5, 1, 2.0), scores(m, 5, 2, 2.0)
        found = model(torch.from_numpy(premise[None]), torch.from_numpy(hypothesis[None])).scores[0]
        wanted, other = (
            dense.class_scores(weights, premise, hypothesis, choice, ALIGNED[kind])
            for choice in (scaled, not scaled)
        )
        np.testing.assert_allclose(found.detach().numpy(), wanted, atol=1e-5)
        assert np.abs(wanted - other).max() > 1e-4
