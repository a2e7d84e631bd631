"""SparseMAP: kernels, other methods, warm starts, derivatives, ties, and a quadratic program in high precision."""

import warnings

import pytest
import torch

from strukt import KSubset, LinearChain, Matching, NonProjectiveTree, ProjectiveTree, SpanTree
from strukt.errors import InfeasibleError


def test_gradient_in_all_scores():
    torch.manual_seed(3)
    unary = torch.randn(2, 3, 3, dtype=torch.float64, requires_grad=True)
    transition = torch.randn(3, 3, dtype=torch.float64, requires_grad=True)

    def marginals(unary: torch.Tensor, transition: torch.Tensor) -> torch.Tensor:
        return LinearChain(unary, transition).sparsemap().marginals

    assert torch.autograd.gradcheck(marginals, (unary, transition), eps=1e-7, atol=1e-5)
    assert torch.autograd.gradgradcheck(marginals, (unary, transition), eps=1e-7, atol=1e-5)


@pytest.mark.parametrize("scores", [torch.zeros(4, 5), 1e6 * torch.ones(4, 5), 1e4 * torch.randn(4, 5)])
def test_ties_and_huge_scores_end(scores):
    found = ProjectiveTree(scores.double()).sparsemap()
    torch.testing.assert_close(found.marginals.sum(-1), torch.ones(4, dtype=torch.float64))


@pytest.mark.parametrize("method", ["active_set", "conditional_gradient"])
@pytest.mark.parametrize("tol", [1.0, 1e155, float("inf")])
def test_loose_tolerances_end_at_structures(tol, method):
    """The square of 1e155 overflows: the search ended before its first structure, at marginals of zero."""
    found = LinearChain(torch.randn(2, 5, 3), torch.randn(3, 3)).sparsemap(tol=tol, method=method)
    torch.testing.assert_close(found.marginals.sum(-1), torch.ones(2, 5))
    assert found.status.all()
    assert found.gap.isfinite().all()


@pytest.mark.slow
def test_too_few_steps_are_said_of_one_that_was_to_be_exact():
    trees = NonProjectiveTree(0.01 * torch.randn(12, 13, dtype=torch.float64))
    with pytest.warns(UserWarning, match="stopped after 1000 steps with a duality gap of .* in 1 of 1 items"):
        trees.sparsemap(method="conditional_gradient")


def test_a_bound_is_kept(recwarn):
    trees = NonProjectiveTree(0.1 * torch.randn(5, 6, dtype=torch.float64))
    found = trees.sparsemap(max_iterations=2)
    assert not recwarn.list
    assert not found.status
    assert found.gap > 0
    assert found.iterations == 2


def random_structures(seed=0):
    """A batch of each kind that has a kernel of its own, of lengths 5, 3 and 1."""
    torch.manual_seed(seed)
    lengths = torch.tensor([5, 3, 1])
    arcs = torch.randn(3, 5, 6, dtype=torch.float64)
    unary, transition = (
        torch.randn(3, 5, 4, dtype=torch.float64),
        torch.randn(3, 4, 4, 4, dtype=torch.float64),
    )
    return {
        "chain": LinearChain(unary, transition, lengths),
        "tree": NonProjectiveTree(arcs, lengths),
        "several roots": NonProjectiveTree(arcs, lengths, single_root=False),
        "projective": ProjectiveTree(arcs, lengths),
        "matching": Matching(torch.randn(3, 5, 7, dtype=torch.float64), lengths),
        "subset": KSubset(torch.randn(3, 5, dtype=torch.float64), (1, 3), lengths),
        "spans": SpanTree(torch.randn(3, 6, 6, 2, dtype=torch.float64), lengths),
    }


KINDS = list(random_structures())


@pytest.mark.parametrize("kind", KINDS)
def test_kernels_equal_the_mode_oracle_asked_in_rounds(kind, monkeypatch):
    structure = random_structures()[kind]
    fast = structure.sparsemap()
    monkeypatch.setenv("STRUKT_BACKEND", "reference")
    slow = structure.sparsemap()
    torch.testing.assert_close(fast.marginals, slow.marginals, atol=1e-11, rtol=0)
    assert fast.status.all()
    assert slow.status.all()


@pytest.mark.thinned("kind", "method")
@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=pytest.mark.slow if kind in ("spans", "projective") else ()) for kind in KINDS],
)
@pytest.mark.parametrize("method", ["conditional_gradient", "away_step", "pairwise"])
def test_conditional_gradients_come_to_the_same_point(kind, method):
    structure = random_structures()[kind]
    exact = structure.sparsemap().marginals
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = structure.sparsemap(method=method)
    error = (found.marginals - exact).flatten(1).square().sum(-1)
    assert (0.5 * error <= found.gap + 1e-12).all()  # the objective is strongly concave
    assert bool(found.status.all()) == (not said)
    assert error.max() < (1e-2 if method == "conditional_gradient" else 1e-10)
    torch.testing.assert_close(found.weights.sum(-1), torch.ones(3, dtype=torch.float64))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "subset"])
def test_a_warm_start_leads_to_the_same_point_in_fewer_calls(kind):
    structure = random_structures()[kind]
    cold = structure.sparsemap()
    main, *others = structure.scores
    moved = structure._with_scores(main + 1e-3 * torch.randn_like(main), *others)
    warm = moved.sparsemap(start=cold)
    again = moved.sparsemap()
    torch.testing.assert_close(warm.marginals, again.marginals, atol=1e-11, rtol=0)
    assert warm.iterations.sum() < again.iterations.sum()


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=() if kind in KINDS[:2] else pytest.mark.slow)
        for kind in KINDS
        if kind != "subset"
    ],
)
def test_searches_of_few_calls_go_on_from_each_other_to_the_solution(kind):
    structure = random_structures()[kind]
    found = structure.sparsemap(max_iterations=2)
    assert not found.status.all()
    for _ in range(200):
        found = structure.sparsemap(max_iterations=2, start=found)
    assert found.status.all()
    torch.testing.assert_close(found.marginals, structure.sparsemap().marginals, atol=1e-8, rtol=0)


def test_a_warm_start_from_structures_that_are_forbidden_now():
    torch.manual_seed(6)
    arcs = torch.randn(4, 5, dtype=torch.float64)
    cold = NonProjectiveTree(arcs).sparsemap()
    forbidden = arcs.masked_fill(cold.marginals == cold.marginals[0].max(), -torch.inf)
    warm = NonProjectiveTree(forbidden).sparsemap(start=cold)
    torch.testing.assert_close(warm.marginals, NonProjectiveTree(forbidden).sparsemap().marginals)


@pytest.mark.parametrize("method", ["active_set", "pairwise"])
def test_every_method_can_start_from_another_ones_result(method):
    torch.manual_seed(7)
    trees = NonProjectiveTree(torch.randn(2, 5, 6, dtype=torch.float64))
    start = trees.sparsemap(method="away_step")
    found = trees.sparsemap(method=method, start=start)
    torch.testing.assert_close(found.marginals, trees.sparsemap().marginals, atol=1e-8, rtol=0)


@pytest.mark.parametrize(
    "structure",
    [
        lambda scores: NonProjectiveTree(scores.reshape(3, 4)),
        lambda scores: SpanTree(scores.repeat(5)[:25].reshape(5, 5)),
        lambda scores: Matching(scores.reshape(3, 4)),
        lambda scores: LinearChain(scores.reshape(4, 3), torch.zeros(3, 3, dtype=torch.float64)),
    ],
)
def test_where_all_scores_tie_the_derivative_is_that_of_the_whole_face(structure):
    """At equal scores few structures carry the optimum, which yet moves in every direction of the polytope."""
    scores = torch.zeros(12, dtype=torch.float64, requires_grad=True)

    def marginals(scores):
        return structure(scores).sparsemap().marginals

    assert torch.autograd.gradcheck(marginals, (scores,), eps=1e-4, atol=1e-8)


def test_weights_are_differentiable_and_second_derivatives_vanish():
    torch.manual_seed(9)
    unary = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    transition = torch.randn(3, 3, dtype=torch.float64, requires_grad=True)

    def weights(unary, transition):
        return LinearChain(unary, transition).sparsemap().weights

    assert torch.autograd.gradcheck(weights, (unary, transition))
    assert torch.autograd.gradgradcheck(weights, (unary, transition))


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e8])
def test_integer_scores_with_many_ties_end_within_the_bound(scale):
    torch.manual_seed(10)
    for _ in range(20):
        scores = scale * torch.randint(-1, 2, (5, 6)).double()
        for structure in (NonProjectiveTree(scores), ProjectiveTree(scores), Matching(scores)):
            found = structure.sparsemap(max_iterations=400)
            assert found.status
            assert found.iterations < 400


def test_infeasible_items_are_named():
    arcs = torch.zeros(3, 2, 3)
    arcs[1] = -torch.inf
    with pytest.raises(InfeasibleError, match="batch item 1"):
        NonProjectiveTree(arcs).sparsemap()
    with pytest.raises(InfeasibleError, match="batch item 0"):
        KSubset(torch.zeros(2), 3).sparsemap()


def test_a_batch_of_nothing():
    found = NonProjectiveTree(torch.zeros(0, 2, 3)).sparsemap()
    assert found.marginals.shape == (0, 2, 3)
    assert found.events.shape == (0, 1, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tol": -1.0}, "tol is -1.0; expected at least 0"),
        ({"tol": float("nan")}, "tol is nan"),
        ({"max_iterations": float("nan")}, "max_iterations is nan; expected a whole number"),
        ({"method": "newton"}, "method is 'newton'; expected one of active_set"),
    ],
)
def test_wrong_arguments_are_said(arguments, message):
    with pytest.raises(ValueError, match=message):
        NonProjectiveTree(torch.zeros(2, 3)).sparsemap(**arguments)


def test_a_start_of_another_size_is_refused():
    other = NonProjectiveTree(torch.zeros(3, 4)).sparsemap()
    with pytest.raises(ValueError, match="start has marginals of shape"):
        NonProjectiveTree(torch.zeros(2, 3)).sparsemap(start=other)


def test_omitted_items_of_subsets_are_required_where_leaving_them_out_is_forbidden():
    omitted = torch.tensor([-torch.inf, 0.0, 0.0])
    found = KSubset(torch.tensor([-5.0, 0.2, 0.1]), 2, omitted=omitted).sparsemap()
    torch.testing.assert_close(found.marginals, torch.tensor([1.0, 0.55, 0.45]))
    torch.testing.assert_close(found.weights.sort().values, torch.tensor([0.45, 0.55]))


def test_structures_of_other_lengths_are_no_start():
    """The next batch has the same padded shape and other lengths: what is no structure of it is passed over."""
    torch.manual_seed(11)
    arcs = torch.randn(3, 4, 5, dtype=torch.float64)
    before = NonProjectiveTree(torch.randn(3, 4, 5, dtype=torch.float64), torch.tensor([4, 3, 1])).sparsemap()
    after = NonProjectiveTree(arcs, torch.tensor([4, 2, 3]))
    torch.testing.assert_close(after.sparsemap(start=before).marginals, after.sparsemap().marginals)
    projective = ProjectiveTree(arcs, labelled=False)
    free = NonProjectiveTree(arcs, labelled=False).sparsemap()
    torch.testing.assert_close(projective.sparsemap(start=free).marginals, projective.sparsemap().marginals)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script. is deprecated:DeprecationWarning")  # PyTorch's own
@pytest.mark.parametrize("kind", KINDS)
def test_forward_mode_and_functional_transforms(kind):
    structure = random_structures()[kind]
    main, *others = structure.scores
    tangent = torch.randn_like(main)

    def marginals(main):
        return structure._with_scores(main, *others).sparsemap().marginals

    _, pulled = torch.autograd.functional.vjp(marginals, main, tangent)
    value, pushed = torch.func.jvp(marginals, (main,), (tangent,))  # the Jacobian is symmetric
    torch.testing.assert_close(pushed, pulled)
    torch.testing.assert_close(value, marginals(main))
    gradient = torch.func.grad(lambda main: (marginals(main) * tangent).sum())(main)
    torch.testing.assert_close(gradient, pulled)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script. is deprecated:DeprecationWarning")  # PyTorch's own
def test_forward_mode_without_grad():
    """`torch.no_grad` does not switch off forward mode: the derivative was silently 0."""
    scores = torch.tensor([[0.2, 0.0], [0.1, 0.3], [0.0, 0.1]], dtype=torch.float64)

    def marginals(scores):
        return LinearChain(scores, scores.new_zeros(2, 2)).sparsemap().marginals

    move = torch.tensor([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]], dtype=torch.float64)
    expected = torch.func.jacrev(marginals)(scores).flatten(2) @ move.flatten()
    with torch.no_grad():
        found = torch.func.jvp(marginals, (scores,), (move,))[1]
    assert expected.any()
    torch.testing.assert_close(found, expected)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script. is deprecated:DeprecationWarning")  # PyTorch's own
def test_hessians_of_a_loss_by_torch_func():
    unary, transition = torch.randn(3, 2, dtype=torch.float64), torch.randn(2, 2, dtype=torch.float64)

    def loss(unary):
        return LinearChain(unary, transition).sparsemap().marginals.square().sum()

    expected = torch.autograd.functional.hessian(loss, unary)
    torch.testing.assert_close(torch.func.hessian(loss)(unary), expected)
    with pytest.raises(NotImplementedError, match="batch axis in front"):
        torch.func.vmap(loss)(unary.expand(2, 3, 2))
