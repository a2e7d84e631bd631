"""Alignments of all kinds: what each of them is, from both sides, in batches and under derivatives."""

from __future__ import annotations

import itertools
import warnings

import pytest
import torch

from strukt.errors import InfeasibleError
from strukt.nn.structured_attention import KINDS, StructuredAttention

ONE_TO_ONE = ["matching", "lp-matching", "lp-sequence"]
SHAPES = torch.tensor([[3, 5], [4, 2], [1, 1], [0, 3], [4, 0], [4, 4]])


def layer(kind, bonus=0.7, **options):
    found = StructuredAttention(kind, **options).double()
    if found.bonus is not None:
        torch.nn.init.constant_(found.bonus, bonus)
    return found


def drawn(batch=6, n=4, m=5, scale=1.0, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return scale * torch.randn(batch, n, m, dtype=torch.float64, generator=generator)


def chains(n, m, bonus):
    """All sequences of columns as parts, ``(m ** n, n, m)``, and what each earns by steps to neighbours."""
    every = torch.tensor(list(itertools.product(range(m), repeat=n)))
    steps = ((every[:, 1:] - every[:, :-1]).abs() == 1).sum(1)
    return torch.nn.functional.one_hot(every, m).double(), bonus * steps.double()


def test_both_matchings_have_the_same_gradients():
    lengths = torch.tensor([[12, 7], [5, 9], [12, 9], [8, 8]])
    gradients = []
    for kind in ("matching", "lp-matching"):
        scores = drawn(4, 12, 9).requires_grad_()
        found = layer(kind)(scores, lengths)
        (
            found.of_rows * drawn(4, 12, 9, seed=1) + found.of_columns * drawn(4, 12, 9, seed=2)
        ).sum().backward()
        gradients.append(scores.grad)
    assert gradients[0].abs().max() > 0.1
    torch.testing.assert_close(gradients[0], gradients[1])


def test_the_crf_is_the_mean_of_all_sequences():
    scores = drawn(1, 3, 4)
    parts, own = chains(3, 4, 0.7)
    total = torch.einsum("kij,ij->k", parts, scores[0]) + own
    expected = torch.einsum("k,kij->ij", total.softmax(0), parts)
    torch.testing.assert_close(layer("crf")(scores).weights[0], expected)


def test_the_softmax_has_other_weights_for_each_side():
    scores = drawn(1)
    found = layer("softmax")(scores)
    torch.testing.assert_close(found.of_rows, scores.softmax(2))
    torch.testing.assert_close(found.of_columns, scores.softmax(1))


@pytest.mark.parametrize("kind", KINDS)
def test_an_item_is_the_same_alone_and_padding_counts_for_nothing(kind):
    scores, attend = drawn(), layer(kind)
    padded = torch.full((6, 6, 7), torch.nan, dtype=torch.float64)
    for item, (n, m) in enumerate(SHAPES.tolist()):
        padded[item, :n, :m] = scores[item, :n, :m]
    found = attend(padded.requires_grad_(), SHAPES)
    for item, (n, m) in enumerate(SHAPES.tolist()):
        alone = attend(scores[item : item + 1, :n, :m])
        for together, single in zip(found, alone, strict=True):
            torch.testing.assert_close(together[item, :n, :m], single[0], atol=1e-6, rtol=0)
        for part in found:
            assert not part[item, n:].any()
            assert not part[item, :, m:].any()
    sum((part * drawn(6, 6, 7, seed=1)).sum() for part in found).backward()
    for item, (n, m) in enumerate(SHAPES.tolist()):
        assert padded.grad[item].isfinite().all()
        assert not padded.grad[item, n:].any()
        assert not padded.grad[item, :, m:].any()


@pytest.mark.parametrize("kind", KINDS)
def test_gradients(kind):
    attend, lengths = layer(kind, tol=1e-9), torch.tensor([[3, 2], [2, 3]])
    names, values = zip(*attend.named_parameters(), strict=True) if attend.bonus is not None else ((), ())

    def aligned(scores, *parameters):
        return torch.func.functional_call(
            attend, dict(zip(names, parameters, strict=True)), (scores, lengths)
        )

    given = drawn(2, 3, 3, seed=3).requires_grad_()
    assert torch.autograd.gradcheck(aligned, (given, *values), atol=1e-4)


def test_rows_that_are_hardly_aligned_have_bounded_gradients():
    scores = torch.tensor([[[0.0, -40.0], [0.0, -40.0]]], dtype=torch.float64, requires_grad=True)
    found = layer("crf")(scores)
    assert found.of_columns[0, :, 1].sum() < 1e-12
    found.of_columns[0, 0, 1].backward()
    assert scores.grad.abs().max() < 1e-12


@pytest.mark.parametrize("kind", ["lp-matching", "lp-sequence"])
def test_to_stop_early_is_no_news(kind):
    scores = drawn(2, 4, 5, 2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        early = layer(kind, iterations=2)(scores.requires_grad_()).weights
        early.square().sum().backward()
    assert scores.grad.any()
    assert ((early >= 0) & (early <= 1)).all()
    assert (early - layer(kind)(scores).weights).abs().max() > 1e-3
    torch.testing.assert_close(layer(kind, iterations=5000)(scores).weights, layer(kind)(scores).weights)


@pytest.mark.parametrize("kind", KINDS)
def test_forbidden_pairs_are_never_aligned(kind):
    scores = drawn(2, 3, 4)
    scores[0, 1, :3] = scores[1, :, 2] = -torch.inf
    weights = layer(kind)(scores.requires_grad_()).weights
    weights.square().sum().backward()
    assert not weights[scores == -torch.inf].any()
    assert not scores.grad[scores == -torch.inf].any()
    assert scores.grad.isfinite().all()
    assert weights.sum(2).detach() == pytest.approx(1.0, abs=1e-5)


def test_a_row_that_may_choose_nothing():
    scores = drawn(2, 3, 4)
    scores[0, 1] = -torch.inf
    soft, chained = (layer(kind)(scores.clone().requires_grad_()) for kind in ("softmax", "crf"))
    assert soft.weights[0].sum(1).tolist() == pytest.approx([1.0, 0.0, 1.0])
    assert not chained.weights[0].any()
    assert chained.weights[1].sum().item() == pytest.approx(3.0)
    for kind in ONE_TO_ONE:
        with pytest.raises(InfeasibleError):
            layer(kind)(scores)
    scores = drawn(1, 2, 3)
    scores[0, :, 1:] = -torch.inf  # both rows want the only column
    for kind in ONE_TO_ONE:
        with pytest.raises(InfeasibleError):
            layer(kind)(scores)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(0, 3, 4), (2, 0, 4), (2, 3, 0)])
def test_nothing_at_all(kind, shape):
    for part in layer(kind)(torch.zeros(shape, dtype=torch.float64)):
        assert part.shape == shape
    for part in layer(kind)(drawn(2), torch.zeros(2, 2, dtype=torch.long)):
        assert not part.any()


@pytest.mark.parametrize("kind", KINDS)
def test_half_precision_is_computed_in_single(kind):
    scores = drawn(1).to(torch.bfloat16)
    found = layer(kind).float()(scores)
    assert found.weights.dtype == torch.float32
    torch.testing.assert_close(found.weights, layer(kind)(scores.double()).weights.float(), atol=1e-5, rtol=0)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"kind is 'hard'; expected softmax, matching, .* or crf"):
        StructuredAttention("hard")
    with pytest.raises(ValueError, match="iterations is 0; expected at least 1"):
        StructuredAttention("lp-matching", iterations=0)
    with pytest.raises(ValueError, match="tol is 0; expected a positive number"):
        StructuredAttention("lp-sequence", tol=0)
    assert StructuredAttention("matching", tol=0).tol == 0
    attend = StructuredAttention()
    with pytest.raises(ValueError, match=r"scores has shape \(2, 3\); expected \(batch, n, m\)"):
        attend(torch.zeros(2, 3))
    with pytest.raises(ValueError, match=r"expected \(batch, n, m\)"):
        attend(torch.zeros(1, 1, 2, 3))


@pytest.mark.parametrize("wrong", [torch.nan, torch.inf])
def test_a_softmax_of_what_is_no_score_is_refused_within_the_lengths(wrong):
    scores = torch.zeros(1, 2, 2)
    scores[0, 1, 0] = wrong
    with pytest.raises(ValueError, match=r"scores holds (nan|inf) at batch item 0, position \(1, 0\)"):
        StructuredAttention()(scores)
    assert StructuredAttention()(scores, torch.tensor([[1, 2]])).weights.isfinite().all()
