"""Losses of structures: equal to enumeration, with the prediction less the target as their gradient."""

import itertools

import pytest
import torch
from scipy.optimize import linprog
from tests.mappings.test_sparsemax_entmax import normal
from torch.autograd import gradcheck, gradgradcheck

from strukt.distributions import (
    KSubset,
    LinearChain,
    Matching,
    NonProjectiveTree,
    ProjectiveTree,
    SemiMarkov,
    SpanTree,
)
from strukt.losses import fenchel_young_loss, ksubset_loss

KINDS = {
    "chain": (lambda unary, pairs: LinearChain(unary, pairs), (2, 4, 3), (3, 3)),
    "segments": (lambda segments, pairs: SemiMarkov(segments, pairs), (2, 4, 2, 2), (2, 2)),
    "tree": (lambda arcs: NonProjectiveTree(arcs, labelled=False), (2, 3, 4)),
    "projective tree": (lambda arcs: ProjectiveTree(arcs, labelled=False), (2, 3, 4)),
    "spans": (lambda spans: SpanTree(spans, labelled=True), (2, 4, 4, 2)),
    "matching": (lambda scores: Matching(scores), (2, 3, 4)),
    "subset": (lambda scores: KSubset(scores, 2), (2, 5)),
}
REGULARIZERS = ("entropy", "sparsemap", None)
EVERY = pytest.mark.parametrize("kind", KINDS)


def scores_of(kind: str, seed: int = 0) -> list[torch.Tensor]:
    _, *shapes = KINDS[kind]
    return [normal(*shape, seed=seed + i) for i, shape in enumerate(shapes)]


def target_of(kind: str) -> torch.Tensor:
    return KINDS[kind][0](*scores_of(kind, 10)).mode


def enumerated(kind: str, regularizer: str | None, hamming: bool) -> torch.Tensor:
    """The loss from the list of all structures; that of SparseMAP without its regulariser, a bound from below."""
    build, *_ = KINDS[kind]
    distribution, target = build(*scores_of(kind)), target_of(kind)
    events = distribution.enumerate_support()
    totals = distribution.score(events)
    if hamming:
        axes = len(distribution.batch_shape)
        missed = distribution.to_parts(events) * (1 - distribution.to_parts(target))
        totals = totals + missed.flatten(1 + axes).sum(-1)
    top = totals.logsumexp(0) if regularizer == "entropy" else totals.amax(0)
    return top - distribution.score(target)


@EVERY
@pytest.mark.parametrize("cost", [None, "hamming"])
@pytest.mark.parametrize("regularizer", ["entropy", None])
def test_losses_equal_enumeration(kind, regularizer, cost):
    distribution = KINDS[kind][0](*scores_of(kind))
    found = fenchel_young_loss(distribution, target_of(kind), regularizer, cost)
    assert torch.allclose(found, enumerated(kind, regularizer, cost == "hamming"), atol=1e-12)
    assert (found >= 0).all()


@EVERY
@pytest.mark.parametrize("cost", [None, "hamming"])
def test_the_loss_of_sparsemap_is_the_best_over_mixtures(kind, cost):
    """No mixture of structures has a higher value than the one found; random mixtures, and those of two."""
    build, *_ = KINDS[kind]
    distribution, target = build(*scores_of(kind)), target_of(kind)
    found = fenchel_young_loss(distribution, target, "sparsemap", cost)
    raised = distribution
    if cost:
        main, *others = distribution.scores
        raised = distribution._with_scores(main + 1 - distribution.to_parts(target), *others)
    events = raised.enumerate_support()
    parts, totals = raised.to_parts(events).flatten(2), raised.score(events)
    generator = torch.Generator().manual_seed(0)
    exponents = 10 ** torch.linspace(-1, 2, 200, dtype=torch.float64)[:, None, None]
    noise = torch.randn(200, *totals.shape, generator=generator, dtype=torch.float64)
    weights = (exponents * (totals + 0.1 * noise)).softmax(1)
    mixed = torch.einsum("skb,kbp->sbp", weights, parts)
    values = (weights * totals).sum(1) - 0.5 * mixed.square().sum(-1)
    own = raised.score(target) - 0.5 * raised.to_parts(target).flatten(1).square().sum(-1)
    assert (found >= values.amax(0) - own - 1e-9).all()
    marginals = raised.sparsemap().marginals.flatten(1)
    expected = best_mixtures(marginals, parts, totals) - 0.5 * marginals.square().sum(-1) - own
    assert torch.allclose(found, expected.clamp(min=0), atol=1e-6)


def best_mixtures(marginals: torch.Tensor, parts: torch.Tensor, totals: torch.Tensor) -> torch.Tensor:
    """The highest expected score of a mixture of structures with these marginals, by linear programming."""
    values = []
    for item, wanted in enumerate(marginals):
        system = torch.cat([parts[:, item].T, torch.ones(1, len(parts), dtype=torch.float64)])
        right = torch.cat([wanted, torch.ones(1, dtype=torch.float64)])
        found = linprog(-totals[:, item].numpy(), A_eq=system.numpy(), b_eq=right.numpy(), bounds=(0, None))
        values.append(-found.fun)
    return torch.tensor(values, dtype=torch.float64)


@EVERY
@pytest.mark.parametrize("cost", [None, "hamming"])
@pytest.mark.parametrize("regularizer", REGULARIZERS)
def test_the_gradient_is_the_prediction_less_the_target(kind, regularizer, cost):
    scores = [score.requires_grad_() for score in scores_of(kind)]
    distribution, target = KINDS[kind][0](*scores), target_of(kind)
    main, *others = distribution.scores
    wanted = distribution.to_parts(target)
    raised = distribution._with_scores(main + (1 - wanted if cost else 0), *others)
    prediction = {
        "entropy": lambda: raised.marginals,
        "sparsemap": lambda: raised.sparsemap().marginals,
        None: lambda: raised.to_parts(raised.mode).to(wanted.dtype),
    }[regularizer]()
    loss = fenchel_young_loss(distribution, target, regularizer, cost)
    (grad,) = torch.autograd.grad(loss.sum(), scores[0])
    assert torch.allclose(grad, prediction - wanted, atol=1e-9)


@pytest.mark.parametrize("kind", ["chain", "tree", "subset"])
@pytest.mark.parametrize("regularizer", ["entropy", "sparsemap"])
def test_all_derivatives(kind, regularizer):
    scores = tuple(score.requires_grad_() for score in scores_of(kind, 3))
    target = target_of(kind)

    def value(*scores: torch.Tensor) -> torch.Tensor:
        return fenchel_young_loss(KINDS[kind][0](*scores), target, regularizer, "hamming")

    assert gradcheck(value, scores)
    assert gradgradcheck(value, scores)


def test_marginals_as_targets_smooth_the_labels():
    x = normal(3, 5).requires_grad_()
    target = torch.tensor([[1, 1, 0, 0, 0]]).expand(3, 5)
    smooth = 0.9 * target + 0.1 * 0.4
    subsets = KSubset(x, 2)
    for regularizer, prediction in (
        ("entropy", subsets.marginals),
        ("sparsemap", subsets.sparsemap().marginals),
    ):
        loss = fenchel_young_loss(subsets, smooth, regularizer)
        (grad,) = torch.autograd.grad(loss.sum(), x, retain_graph=True)
        assert torch.allclose(grad, prediction - smooth, atol=1e-9)
    found = fenchel_young_loss(subsets, smooth, "sparsemap")
    assert torch.allclose(found, ksubset_loss(x, smooth, 2.0, reduction="none"), atol=1e-9)
    hard = fenchel_young_loss(subsets, target.double(), "sparsemap")
    assert torch.allclose(hard, fenchel_young_loss(subsets, target, "sparsemap"), atol=1e-9)


def test_a_cost_for_each_part():
    x, cost = normal(4, 5), normal(5, seed=7).abs()
    target = KSubset(normal(4, 5, seed=3), 2).mode
    found = fenchel_young_loss(KSubset(x, 2), target, None, cost)
    raised = KSubset(x + cost, 2)
    assert torch.allclose(found, raised.max_score - raised.score(target))


def test_costs_of_padding_may_hold_anything():
    subsets = KSubset(torch.zeros(2, 4), 2, lengths=[4, 3])
    cost = torch.ones(2, 4)
    expected = fenchel_young_loss(subsets, subsets.mode, None, cost)
    cost[1, 3] = torch.nan
    assert torch.equal(fenchel_young_loss(subsets, subsets.mode, None, cost), expected)


def test_messages_name_the_misfit():
    subsets = KSubset(torch.zeros(2, 4), 2)
    target = subsets.mode
    with pytest.raises(ValueError, match=r"regularizer is 'l2'; expected 'entropy', 'sparsemap' or None"):
        fenchel_young_loss(subsets, target, "l2")
    with pytest.raises(ValueError, match=r"cost is 'f1'; expected 'hamming'"):
        fenchel_young_loss(subsets, target, None, "f1")
    with pytest.raises(ValueError, match="cost has shape"):
        fenchel_young_loss(subsets, target, None, torch.ones(3))
    for wrong in (torch.nan, torch.inf):
        cost = torch.ones(2, 4)
        cost[1, 3] = wrong
        with pytest.raises(ValueError, match=f"cost holds {wrong} at batch item 1, position 3; expected numbers"):
            fenchel_young_loss(subsets, target, None, cost)
    with pytest.raises(ValueError, match="target has shape"):
        fenchel_young_loss(subsets, torch.ones(2, 3))
    for wrong in (torch.nan, torch.inf, -0.5):
        marginals = torch.full((2, 4), 0.5)
        marginals[1, 3] = wrong
        with pytest.raises(ValueError, match=f"target holds {wrong} at batch item 1, position 3; expected"):
            fenchel_young_loss(subsets, marginals)


@pytest.mark.parametrize("regularizer", ["entropy", "sparsemap", None])
def test_padding_of_marginals_is_ignored(regularizer):
    scores, target = torch.randn(2, 3, 2, generator=torch.Generator().manual_seed(0)), torch.full((2, 3, 2), 0.5)
    short = LinearChain(scores[:1, :2], torch.zeros(2, 2))
    expected = fenchel_young_loss(short, target[:1, :2], regularizer)
    for padding in (0.0, 0.5, torch.nan):
        target[0, 2] = padding
        padded = LinearChain(scores, torch.zeros(2, 2), torch.tensor([2, 3]))
        torch.testing.assert_close(fenchel_young_loss(padded, target, regularizer)[:1], expected)


def test_the_second_derivative_of_the_sparsemap_loss_is_that_of_the_marginals_where_scores_tie():
    transition = torch.zeros(3, 3, dtype=torch.float64)
    scores, tags = torch.zeros(4, 3, dtype=torch.float64), torch.tensor([0, 1, 2, 0])

    def loss(unary: torch.Tensor) -> torch.Tensor:
        return fenchel_young_loss(LinearChain(unary, transition), tags, "sparsemap")

    def marginals(unary: torch.Tensor) -> torch.Tensor:
        return LinearChain(unary, transition).sparsemap().marginals

    hessian = torch.autograd.functional.hessian(loss, scores)
    torch.testing.assert_close(hessian, torch.autograd.functional.jacobian(marginals, scores))
    assert torch.linalg.matrix_rank(hessian.reshape(12, 12)) == 8


@pytest.mark.parametrize("cost", [None, "hamming"])
def test_the_loss_of_sparsemap_among_the_structures_of_few_calls(cost, recwarn):
    torch.manual_seed(0)
    trees = NonProjectiveTree(0.3 * torch.randn(8, 12, 13, dtype=torch.float64))
    target = trees.sample()
    losses = [
        fenchel_young_loss(trees, target, "sparsemap", cost, max_iterations=bound)
        for bound in (1, 5, 20, None)
    ]
    for fewer, more in itertools.pairwise(losses):
        assert (fewer <= more + 1e-12).all()
        assert (fewer < more).any()
    assert (losses[0] >= 0).all()
    torch.testing.assert_close(losses[2], losses[3], rtol=0.05, atol=0)
    assert not recwarn.list


@pytest.mark.parametrize("regularizer", ["entropy", None])
def test_the_loss_is_infinite_if_every_structure_is_forbidden(regularizer):
    unary = torch.tensor([[[-torch.inf, -torch.inf], [0.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]]], requires_grad=True)
    chains = LinearChain(unary, torch.zeros(2, 2))
    targets = [torch.tensor([[0, 1], [1, 1]]), torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]])]
    for target in targets:
        loss = fenchel_young_loss(chains, target, regularizer)
        assert loss[0] == torch.inf
        assert loss[1].isfinite()
        (grad,) = torch.autograd.grad(loss[1], unary)
        assert grad.isfinite().all()
