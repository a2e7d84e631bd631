"""What mean field and belief propagation over second-order scores share, against all choices of heads."""

import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.inference.head_selection import (
    Scores,
    batches,
    enumerated,
    padded_with,
    random_scores,
    shortened,
)

from strukt import NonProjectiveTree, ProjectiveTree
from strukt.inference import second_order

ALGORITHMS = [second_order.mean_field, second_order.belief_propagation]
EITHER = pytest.mark.parametrize("infer", ALGORITHMS, ids=lambda infer: infer.__name__)


def log_partition(found) -> torch.Tensor:
    """The bound or the estimate."""
    return found.lower_bound if hasattr(found, "lower_bound") else found.log_partition


def answers(infer, scores, lengths=None, **settings) -> tuple[torch.Tensor, torch.Tensor]:
    found = infer(*scores, lengths, **settings)
    return found.marginals, log_partition(found)


@EITHER
@pytest.mark.parametrize("n", [0, 1, 2, 4, 9])
def test_without_pairs_each_word_has_a_softmax_over_heads(infer, n):
    arcs = random_scores(n).arcs
    own = torch.diag(torch.ones(n, dtype=torch.bool), 1)[:n]
    expected = arcs.masked_fill(own, -math.inf)
    for pairs in (None, torch.zeros(n, n, n + 1)):
        found = infer(arcs, pairs, pairs)
        assert torch.allclose(found.marginals, expected.softmax(-1))
        assert torch.allclose(found.log_marginals, expected.log_softmax(-1))
        assert torch.allclose(log_partition(found), expected.logsumexp(-1).sum())
        assert found.change < 1e-12


@EITHER
@pytest.mark.parametrize("seed", range(2))
def test_weak_pairs_are_nearly_exact(infer, seed):
    scores = random_scores(4, 0.1, seed)
    exact, marginals = enumerated(scores)
    found = infer(*scores, iterations=30)
    assert torch.allclose(log_partition(found), exact, atol=0.02)
    assert torch.allclose(found.marginals, marginals, atol=5e-3)
    off = (infer(scores.arcs).marginals - marginals).abs().max()
    assert (found.marginals - marginals).abs().max() < 0.2 * off


@EITHER
@pytest.mark.parametrize("which", ["siblings", "grandparents"])
def test_either_kind_of_pairs_may_be_left_out(infer, which):
    scores = random_scores(4)
    alone = infer(scores.arcs, **{which: getattr(scores, which)})
    given = dict.fromkeys(("siblings", "grandparents"), torch.zeros(4, 4, 5)) | {
        which: getattr(scores, which)
    }
    both = infer(scores.arcs, **given)
    assert torch.equal(alone.marginals, both.marginals)
    assert not torch.allclose(alone.marginals, infer(scores.arcs).marginals)


@EITHER
@given(batches())
def test_items_are_what_they_are_alone_whatever_the_padding_holds(infer, case):
    scores, lengths = case
    marginals, totals = answers(infer, padded_with(math.nan, scores, lengths), lengths)
    assert marginals.shape == scores.arcs.shape
    assert totals.shape == lengths.shape
    for place in itertools.product(*map(range, lengths.shape)):
        length = lengths[place].item()
        alone, total = answers(infer, shortened(scores[place], length))
        assert torch.allclose(marginals[place][:length, : length + 1], alone)
        assert torch.allclose(totals[place], total)
        assert marginals[place][length:].sum() == 0
        assert marginals[place][:, length + 1 :].sum() == 0


@EITHER
@given(batches())
def test_marginals_are_distributions_over_the_heads_that_are_allowed(infer, case):
    scores, lengths = case
    marginals, _ = answers(infer, scores, lengths)
    sums = marginals.sum(-1)
    assert (((sums - 1).abs() < 1e-9) | (sums == 0)).all()
    assert (marginals[scores.arcs == -math.inf] == 0).all()
    assert (marginals.diagonal(1, -2, -1) == 0).all()


@EITHER
@given(batches(), st.integers(1, 4))
def test_gradients_are_finite_and_zero_where_forbidden_or_unread(infer, case, iterations):
    scores, lengths = case
    leaves = [each.requires_grad_() for each in padded_with(math.nan, scores, lengths)]
    marginals, totals = answers(infer, leaves, lengths, iterations=iterations)
    weights = torch.linspace(-1, 1, marginals.numel(), dtype=torch.float64).view(marginals.shape)
    loss = (marginals * weights).sum() + torch.where(totals > -math.inf, totals, 0.0).sum()
    for leaf, gradient in zip(leaves, torch.autograd.grad(loss, leaves), strict=True):
        assert gradient.isfinite().all()
        assert (gradient[~leaf.isfinite()] == 0).all()


@EITHER
def test_derivatives_by_unrolling(infer):
    scores = random_scores(3, 1.0, batch=(2,))
    scores.arcs[0, 1, 0] = scores.siblings[0, 0, 2, 2] = scores.siblings[0, 2, 0, 2] = -math.inf
    lengths = torch.tensor([3, 2])
    inputs = tuple(each.requires_grad_() for each in scores)

    def of(*leaves: torch.Tensor) -> tuple[torch.Tensor, ...]:
        marginals, totals = answers(infer, leaves, lengths, iterations=2)
        return marginals, torch.where(totals > -math.inf, totals, 0.0)

    finite = [leaf.detach().isfinite() for leaf in inputs]
    kept = tuple(leaf.detach()[mask].requires_grad_() for leaf, mask in zip(inputs, finite, strict=True))

    def of_finite(*values: torch.Tensor) -> tuple[torch.Tensor, ...]:
        full = (
            torch.full_like(leaf.detach(), -math.inf).masked_scatter(mask, value)
            for leaf, mask, value in zip(inputs, finite, values, strict=True)
        )
        return of(*full)

    assert torch.autograd.gradcheck(of_finite, kept)
    assert torch.autograd.gradgradcheck(of_finite, kept, fast_mode=True)


@EITHER
def test_scores_that_no_heads_use_are_ignored(infer):
    scores = random_scores(4)
    changed = Scores(*(each.clone() for each in scores))
    for m in range(4):
        changed.arcs[m, m + 1] = 50.0
        changed.siblings[m, m] = changed.siblings[m, :, m + 1] = changed.siblings[:, m, m + 1] = 50.0
        changed.grandparents[m, m] = changed.grandparents[m, :, m + 1] = changed.grandparents[:, m, m + 1] = (
            50.0
        )
    for one, other in zip(answers(infer, scores), answers(infer, changed), strict=True):
        assert torch.equal(one, other)


@EITHER
def test_only_the_mean_of_the_two_orders_of_siblings_counts(infer):
    arcs, siblings, grandparents = random_scores(4)
    symmetric = (siblings + siblings.transpose(-2, -3)) / 2
    one = answers(infer, (arcs, siblings, grandparents))
    other = answers(infer, (arcs, symmetric, grandparents))
    assert all(map(torch.allclose, one, other))


@EITHER
def test_a_word_without_a_head_empties_its_item_alone(infer):
    scores = random_scores(3, batch=(2,))
    scores.arcs[0, 1] = -math.inf
    marginals, totals = answers(infer, scores)
    alone, total = answers(infer, scores[1])
    assert totals[0] == -math.inf
    assert (marginals[0] == 0).all()
    assert torch.allclose(marginals[1], alone)
    assert torch.allclose(totals[1], total)


@EITHER
@pytest.mark.parametrize("scale", [1e2, 1e6])
def test_extreme_scores_are_finite(infer, scale):
    scores = random_scores(5)
    leaves = [(scale * each).requires_grad_() for each in scores]
    marginals, total = answers(infer, leaves)
    assert torch.allclose(marginals.sum(-1), torch.ones(5, dtype=torch.float64))
    assert total.isfinite()
    assert all(gradient.isfinite().all() for gradient in torch.autograd.grad(total, leaves))


@EITHER
def test_half_precision_is_computed_in_single(infer):
    scores = [each.to(torch.bfloat16) for each in random_scores(4)]
    half, single = (infer(*given) for given in (scores, [each.float() for each in scores]))
    assert half.marginals.dtype == torch.float32
    assert torch.equal(half.marginals, single.marginals)


@EITHER
def test_pair_scores_may_be_shared_by_all_items(infer):
    arcs = random_scores(4, batch=(2, 3)).arcs
    _, siblings, grandparents = random_scores(4, seed=1)
    shared = answers(infer, (arcs, siblings, grandparents))
    copied = answers(infer, (arcs, siblings.expand(2, 3, 4, 4, 5), grandparents.expand(2, 3, 4, 4, 5)))
    assert all(map(torch.equal, shared, copied))


@pytest.mark.parametrize(
    "infer", [pytest.param(second_order.mean_field, marks=pytest.mark.slow), second_order.belief_propagation]
)
def test_transforms_and_compiled_programs(infer):
    scores = random_scores(3, batch=(4,))
    expected = answers(infer, scores)
    mapped = torch.func.vmap(lambda *each: answers(infer, each))(*scores)
    assert all(map(torch.allclose, mapped, expected))
    compiled = torch.compile(lambda *each: answers(infer, each), backend="eager", fullgraph=True)
    assert all(map(torch.allclose, compiled(*scores), expected))


@EITHER
def test_the_best_tree_is_read_from_the_marginals(infer):
    """Head selection may prefer a cycle; the tree never has one."""
    arcs = torch.tensor([[0.0, 0.0, 3.0, 0.0], [1.0, 3.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]])
    rivals = torch.zeros(3, 3, 4)
    rivals[..., 0] = -4.0  # words below the root avoid each other
    found = infer(arcs, rivals)
    assert found.marginals.argmax(-1).tolist() == [2, 1, 2]
    for kind in (NonProjectiveTree, ProjectiveTree):
        assert kind(found.log_marginals).mode.tolist() == [2, 0, 2]


@EITHER
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"arcs": torch.zeros(3, 3)}, r"arcs has shape \(3, 3\); expected batch \+ \(n, n \+ 1\)"),
        ({"arcs": torch.zeros(3, 4, dtype=torch.int64)}, "arcs is of dtype torch.int64; expected a floating"),
        ({"siblings": [1.0]}, "siblings is a list; expected a floating-point tensor"),
        ({"siblings": torch.zeros(3, 3, 3)}, r"siblings has shape \(3, 3, 3\).*expected \(3, 3, 4\)"),
        ({"grandparents": torch.zeros(2, 3, 3, 4)}, r"grandparents has shape \(2, 3, 3, 4\)"),
        ({"grandparents": torch.full((3, 3, 4), math.nan)}, "grandparents holds nan at batch item 0"),
        ({"arcs": torch.full((3, 4), math.inf)}, "arcs holds inf at batch item 0"),
        (
            {"lengths": torch.tensor([3])},
            r"lengths has shape \(1,\); expected \(\)",
        ),
        ({"lengths": torch.tensor(2.0)}, "lengths is of type torch.float32"),
        ({"lengths": "2"}, "lengths is of type str; expected a LongTensor"),
        ({"lengths": torch.tensor(4)}, "lengths holds .*expected 0 to 3"),
        ({"iterations": 0}, "iterations is 0; expected at least 1"),
    ],
)
def test_what_does_not_fit_is_refused(infer, arguments, message):
    with pytest.raises(ValueError, match=message):
        infer(**({"arcs": torch.zeros(3, 4)} | arguments))
