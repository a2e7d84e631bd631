"""LP-SparseMAP and LP-MAP against an interior-point method, and what they must bear."""

import itertools

import numpy as np
import pytest
import scipy.optimize
import torch
from tests.inference.tables import (
    Table,
    at_least_one,
    at_most,
    grid,
    knapsack,
    layout,
    matching,
    or_out,
    oracle,
    pair,
    random_layout,
    xor,
)
from tests.quadratic_program import lp_sparsemap_marginals

from strukt.inference.lp_sparsemap.admm import solve, warn_unless_converged
from strukt.inference.lp_sparsemap.graph import BAND, OR_OUT, PAIR, Layout
from strukt.inference.lp_sparsemap.oracles import CALLS_PER_ROUND, MOST_CALLS

K4 = layout(4, *(pair(i, j) for i in range(4) for j in range(i)))
MIXED = layout(
    6, at_most(2.0, 0, 1, 2, 3), knapsack([1.5, 2, 0.5, 1], 2.2, 1, 2, ~4, 5), or_out(0, 2, ~3, 5), xor(3, 4)
)
FEW = np.array([[0.0, 0, 0, 0], [1, 0, 1, 0], [0, 1, 1, 0], [1, 1, 0, 1], [0, 0, 1, 1]])
ALL = np.array(list(itertools.product((0.0, 1.0), repeat=4)))
WITH_TABLE = layout(6, oracle(0, 1, ~2, 3), at_most(1.0, 0, 3, 4, 5), pair(1, 4), at_least_one(2, 5))


def normal(seed, *shape, scale=1.0):
    return scale * torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


def no_pairs(batch):
    return torch.zeros(batch, 0, dtype=torch.float64)


def pairs_of(graph, seed, batch, scale=1.0):
    return normal(seed, batch, int((graph.kinds == PAIR).sum()), scale=scale)


@pytest.mark.parametrize(
    ("graph", "seed"), [(matching(4), 0), (K4, 1), (MIXED, 2), (grid(3), 3), (grid(4), 4)]
)
@pytest.mark.parametrize("scale", [0.3, 1.0, 5.0])
def test_equals_the_quadratic_program(graph, seed, scale):
    scores, pairs = normal(seed, 4, graph.variables, scale=scale), pairs_of(graph, seed + 10, 4, scale)
    found = solve(graph, scores, pairs, [])
    assert found.status.all()
    assert (found.gap < 1e-12 * (1 + scale)).all()
    for item in range(4):
        expected, _ = lp_sparsemap_marginals(graph, scores[item].numpy(), pairs[item].numpy())
        np.testing.assert_allclose(found.marginals[item].numpy(), expected, atol=1e-10)


@pytest.mark.thinned("seed", "form")
@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("form", ["plain", "ties", "large", "forbidden"])
def test_random_graphs_equal_the_quadratic_program_or_say_that_they_are_infeasible(seed, form):
    rng = np.random.default_rng(seed)
    graph = random_layout(rng, int(rng.integers(6, 12)), int(rng.integers(1, 9)))
    scores = rng.normal(size=graph.variables) * (10.0 if form == "large" else 1.0)
    pairs = rng.normal(size=int((graph.kinds == PAIR).sum()))
    if form == "ties":
        scores, pairs = np.round(2 * scores) / 2, np.round(2 * pairs) / 2
    if form == "forbidden":
        scores[rng.integers(graph.variables)] = -np.inf
        pairs[:1] = -np.inf
    arguments = graph, torch.tensor(scores)[None], torch.tensor(pairs)[None], []
    try:
        expected, _ = lp_sparsemap_marginals(graph, scores, pairs)
    except ValueError:
        assert not solve(*arguments, max_iterations=500).status.any()
        return
    found = solve(*arguments)
    assert found.status.all()
    np.testing.assert_allclose(found.marginals[0].numpy(), expected, atol=1e-9)
    _, value = lp_sparsemap_marginals(graph, scores, pairs, curvature=0.0)
    found = solve(*arguments, curvature=0.0)
    assert found.status.all()
    assert objective(graph, scores, pairs, found.marginals[0].numpy()) == pytest.approx(value, abs=1e-8)
    assert found.gap.item() < 1e-8


def objective(graph, scores, pairs, marginals):
    total = np.where(scores > -np.inf, scores, 0.0) @ marginals
    for f in np.flatnonzero(graph.kinds == PAIR):
        part = slice(graph.starts[f], graph.starts[f + 1])
        seen = marginals[graph.copies[part]]
        a, b = np.where(graph.negated[part], 1.0 - seen, seen)
        together = min(a, b) if pairs[graph.pair[f]] > 0 else max(0.0, a + b - 1.0)
        total += pairs[graph.pair[f]] * together if together > 1e-12 else 0.0
    return total


@pytest.mark.parametrize("seed", range(8))
def test_oracles_mixed_with_closed_forms(seed):
    scores, pairs, own = normal(seed, 3, 6), normal(seed + 1, 3, 1), normal(seed + 2, 3, len(FEW))
    found = solve(WITH_TABLE, scores, pairs, [Table(FEW, own)])
    assert found.status.all()
    assert (found.gap < 1e-12).all()
    for item in range(3):
        table = [(FEW, own[item].numpy())]
        expected, _ = lp_sparsemap_marginals(WITH_TABLE, scores[item].numpy(), pairs[item].numpy(), table)
        np.testing.assert_allclose(found.marginals[item].numpy(), expected, atol=1e-10)


def test_a_single_oracle_is_its_own_sparsemap():
    """The first points are already the solution; one more call confirms it."""
    table = Table(FEW, normal(1, 2, len(FEW)))
    scores = normal(2, 2, 4)
    found = solve(layout(4, oracle(0, 1, 2, 3)), scores, no_pairs(2), [table])
    expected = table.project(scores, torch.ones(2), None, 1).point
    np.testing.assert_allclose(found.marginals.numpy(), expected.numpy(), atol=1e-12)
    assert found.iterations.max() <= 2
    assert table.calls <= 3


@pytest.mark.parametrize(("rounds", "calls"), [(3, 3 * CALLS_PER_ROUND), (1000, MOST_CALLS)])
def test_few_rounds_search_little_within_a_factor(rounds, calls):
    table = Table(FEW, normal(1, 2, len(FEW)))
    solve(WITH_TABLE, normal(2, 2, 6), normal(3, 2, 1), [table], max_iterations=rounds)
    assert table.allowed == {calls}


def test_value_of_lp_map_with_an_oracle():
    scores, pairs, own = normal(3, 4, 6), normal(4, 4, 1), normal(5, 4, len(FEW))
    found = solve(WITH_TABLE, scores, pairs, [Table(FEW, own)], curvature=0.0)
    assert found.status.all()
    assert (found.gap < 1e-9).all()
    for item in range(4):
        _, value = lp_sparsemap_marginals(
            WITH_TABLE, scores[item].numpy(), pairs[item].numpy(), [(FEW, own[item].numpy())], curvature=0.0
        )
        face = found.state.faces[0]
        held = scores[item] @ found.marginals[item] + face.weights[item] @ face.scores[item]
        a, b = found.marginals[item, [1, 4]].numpy()
        c = pairs[item, 0].item()
        held += c * (min(a, b) if c > 0 else max(0.0, a + b - 1.0))
        assert held.item() == pytest.approx(value, abs=1e-8)


@pytest.mark.parametrize("graph", [matching(4), K4, MIXED, grid(3)])
def test_a_batch_equals_its_items(graph):
    scores, pairs = normal(0, 5, graph.variables), pairs_of(graph, 1, 5)
    scores[1] *= 100
    whole = solve(graph, scores, pairs, [])
    for item in range(5):
        one = solve(graph, scores[item : item + 1], pairs[item : item + 1], [])
        assert torch.equal(one.marginals[0], whole.marginals[item])
        assert one.iterations[0] == whole.iterations[item]


def test_a_batch_with_an_oracle_equals_its_items():
    scores, pairs, own = normal(3, 4, 6), normal(4, 4, 1), normal(5, 4, len(FEW))
    own, weights = own.requires_grad_(), normal(6, 4, 6)
    whole = solve(WITH_TABLE, scores, pairs, [Table(FEW, own)])
    (slope,) = torch.autograd.grad(whole.marginals, own, weights)
    for item in range(4):
        part = slice(item, item + 1)
        one = solve(WITH_TABLE, scores[part], pairs[part], [Table(FEW, own[part])])
        torch.testing.assert_close(one.marginals[0], whole.marginals[item], atol=1e-13, rtol=0)
        assert one.iterations[0] == whole.iterations[item]
        (alone,) = torch.autograd.grad(one.marginals, own, weights[part])
        torch.testing.assert_close(alone[item], slope[item], atol=1e-12, rtol=0)


@pytest.mark.parametrize(("graph", "seed"), [(matching(4), 0), (K4, 1), (MIXED, 2), (grid(3), 3)])
def test_gradients_are_central_differences_at_every_scale_of_the_cotangent(graph, seed):
    scores = normal(seed, 2, graph.variables).requires_grad_()
    pairs = pairs_of(graph, seed + 1, 2).requires_grad_()
    weights = normal(seed + 2, 2, graph.variables)
    value = solve(graph, scores, pairs, []).marginals
    expected = {}
    for name, given, place in (("scores", scores, 0), ("pairs", pairs, 1)):
        expected[name] = torch.zeros_like(given)
        for index in np.ndindex(*given.shape):
            moved = [torch.zeros_like(scores), torch.zeros_like(pairs)]
            moved[place][index] = 1e-6
            ahead, back = (
                solve(graph, scores.detach() + s * moved[0], pairs.detach() + s * moved[1], []).marginals
                for s in (1, -1)
            )
            expected[name][index] = (((ahead - back) / 2e-6) * weights).sum()
    for scale in (1.0, 1e-3, 1e-6):
        grads = torch.autograd.grad(value, (scores, pairs), scale * weights, retain_graph=True)
        for grad, name in zip(grads, expected, strict=True):
            torch.testing.assert_close(grad / scale, expected[name], atol=1e-7, rtol=0)


@pytest.mark.parametrize(("table", "scale"), [(FEW, 0.3), pytest.param(ALL, 1.0, marks=pytest.mark.slow)])
def test_derivatives_of_own_scores_to_second_order(table, scale):
    """All assignments of the table carry the point, or some do, and depend on the others."""
    scores, pairs, own = (
        normal(s, 2, n, scale=scale).requires_grad_() for s, n in ((10, 6), (11, 1), (12, len(table)))
    )

    def marginals(scores, pairs, own):
        return solve(WITH_TABLE, scores, pairs, [Table(table, own)]).marginals

    assert torch.autograd.gradcheck(marginals, (scores, pairs, own))
    leaves = scores, pairs, own
    assert torch.autograd.gradgradcheck(lambda *a: marginals(*a).square(), leaves, fast_mode=True)
    grads = torch.autograd.grad(marginals(scores, pairs, own), (pairs, own), normal(6, 2, 6))
    assert all(grad.abs().max() > 1e-3 for grad in grads)


@pytest.mark.parametrize("graph", [matching(3), K4, MIXED])
def test_second_derivatives(graph):
    scores, pairs = normal(7, 2, graph.variables).requires_grad_(), pairs_of(graph, 8, 2).requires_grad_()
    assert torch.autograd.gradcheck(lambda *a: solve(graph, *a, []).marginals, (scores, pairs))
    assert torch.autograd.gradgradcheck(lambda *a: solve(graph, *a, []).marginals.square(), (scores, pairs))


@pytest.mark.filterwarnings("ignore:.*torch.jit.script. is deprecated:DeprecationWarning")  # PyTorch's own
def test_jacobians_and_hessians_of_torch_func():
    scores, pairs = normal(1, 1, 4), pairs_of(K4, 2, 1)

    def square(scores):
        return solve(K4, scores, pairs, []).marginals.square().sum()

    jacobian = torch.func.jacrev(lambda s: solve(K4, s, pairs, []).marginals)(scores)[0, :, 0]
    torch.testing.assert_close(jacobian @ jacobian, jacobian)
    assert jacobian.trace() > 0.5
    hessian = torch.func.hessian(square)(scores)[0, :, 0]
    torch.testing.assert_close(hessian, 2 * jacobian)
    with pytest.raises(NotImplementedError, match="give them a batch axis in front"):
        torch.vmap(square)(scores.unsqueeze(0))


def test_variables_in_no_factor():
    scores = torch.tensor([[0.4, -1.0, 3.0, 0.2]], dtype=torch.float64, requires_grad=True)
    graph = layout(4, at_most(1.0, 3))
    found = solve(graph, scores, no_pairs(1), []).marginals
    torch.testing.assert_close(found.detach(), torch.tensor([[0.4, 0.0, 1.0, 0.2]], dtype=torch.float64))
    (grad,) = torch.autograd.grad(found.sum(), scores)
    assert grad.tolist() == [[1.0, 0.0, 0.0, 1.0]]
    assert solve(graph, scores, no_pairs(1), [], curvature=0.0).marginals.tolist() == [[1.0, 0.0, 1.0, 1.0]]


def test_no_factors_at_all_and_no_items():
    found = solve(layout(2), torch.tensor([[0.3, 2.0]]), no_pairs(1), [])
    assert found.marginals.tolist() == [[pytest.approx(0.3), 1.0]]
    assert found.status.all()
    scores = torch.zeros(0, 16, requires_grad=True)
    found = solve(matching(4), scores, no_pairs(0), [])
    assert (found.marginals.shape, found.status.shape, found.gap.shape) == ((0, 16), (0,), (0,))
    assert torch.autograd.grad(found.marginals.sum(), scores)[0].shape == (0, 16)
    found = solve(WITH_TABLE, torch.zeros(0, 6), torch.zeros(0, 1), [Table(FEW, torch.zeros(0, len(FEW)))])
    assert found.marginals.shape == (0, 6)
    assert solve(layout(0), torch.zeros(2, 0), no_pairs(2), []).status.all()


@pytest.mark.parametrize("graph", [matching(4), MIXED, grid(3)])
@pytest.mark.parametrize("curvature", [1.0, 0.0])
def test_zero_scores(graph, curvature):
    found = solve(graph, torch.zeros(1, graph.variables), torch.zeros(1, 12), [], curvature=curvature)
    assert found.status.all()
    if curvature:
        expected, _ = lp_sparsemap_marginals(graph, np.zeros(graph.variables), np.zeros(12))
        np.testing.assert_allclose(found.marginals[0].numpy(), expected, atol=1e-6)


def test_scores_so_huge_that_the_best_matching_is_left():
    scores = normal(3, 3, 64, scale=1e8)
    found = solve(matching(8), scores, no_pairs(3), [])
    assert found.status.all()
    for item in range(3):
        rows, columns = scipy.optimize.linear_sum_assignment(
            scores[item].reshape(8, 8).numpy(), maximize=True
        )
        assert (found.marginals[item].reshape(8, 8)[rows, columns] == 1).all()
        assert found.marginals[item].sum() == 8


@pytest.mark.parametrize("scale", [1e4, 1e-3, 1e-8])
def test_huge_and_tiny_scores(scale):
    scores, pairs = normal(3, 3, 16, scale=scale), no_pairs(3)
    found = solve(matching(4), scores, pairs, [])
    assert found.status.all()
    for item in range(3):
        expected, _ = lp_sparsemap_marginals(matching(4), scores[item].numpy())
        np.testing.assert_allclose(found.marginals[item].numpy(), expected, atol=1e-7)


@pytest.mark.parametrize("scale", [1e-12, 1e-3, 1e6])
def test_lp_map_of_any_scale(scale):
    scores, pairs = normal(3, 3, 25, scale=scale), pairs_of(grid(5), 4, 3, scale)
    found = solve(grid(5), scores, pairs, [], curvature=0.0)
    assert found.status.all()
    for item in range(3):
        _, value = lp_sparsemap_marginals(
            grid(5), scores[item].numpy() / scale, pairs[item].numpy() / scale, curvature=0.0
        )
        reached = objective(grid(5), scores[item].numpy(), pairs[item].numpy(), found.marginals[item].numpy())
        assert reached / scale == pytest.approx(value, abs=1e-8)


@pytest.mark.parametrize("lead", [1e-2, 1e-3, 1e-5, 1e-7])
def test_lp_map_of_scores_that_nearly_tie(lead):
    """The center of the proximal term must move until the better score has everything."""
    scores = torch.tensor([[1.0, 1.0 + lead, 0.0, 0.5]], dtype=torch.float64)
    found = solve(layout(4, xor(0, 1, 2), xor(0, 1, 3)), scores, no_pairs(1), [], curvature=0.0)
    assert found.status.all()
    np.testing.assert_allclose(found.marginals[0].numpy(), [0, 1, 0, 0], atol=1e-6)


def test_duplicate_factors_and_a_factor_of_one_variable():
    graph = layout(3, xor(0, 1, 2), xor(0, 1, 2), xor(2, 1, 0), xor(1), at_most(1.0, 0))
    found = solve(graph, torch.tensor([[3.0, -1.0, 0.0]], dtype=torch.float64), no_pairs(1), [])
    assert found.status.all()
    assert found.marginals.tolist() == [[0.0, 1.0, 0.0]]


def test_forbidden_variables_are_zero_without_gradient():
    scores = normal(0, 2, 16)
    scores[:, [0, 5]] = -torch.inf
    scores.requires_grad_()
    found = solve(matching(4), scores, no_pairs(2), [])
    assert found.status.all()
    assert (found.marginals[:, [0, 5]] == 0).all()
    (grad,) = torch.autograd.grad(found.marginals, scores, normal(1, 2, 16))
    assert torch.isfinite(grad).all()
    assert (grad[:, [0, 5]] == 0).all()
    expected, _ = lp_sparsemap_marginals(matching(4), scores[0].detach().numpy())
    np.testing.assert_allclose(found.marginals[0].detach().numpy(), expected, atol=1e-10)


def test_a_pair_that_excludes_both_has_finite_gradients():
    pairs = torch.tensor([[-torch.inf]], dtype=torch.float64, requires_grad=True)
    scores = torch.tensor([[0.9, 0.7]], dtype=torch.float64, requires_grad=True)
    found = solve(layout(2, pair(0, 1)), scores, pairs, [])
    torch.testing.assert_close(found.marginals.detach(), torch.tensor([[0.6, 0.4]], dtype=torch.float64))
    assert found.gap.item() < 1e-15
    grads = torch.autograd.grad(found.marginals[0, 0], (scores, pairs))
    assert grads[0].tolist() == [[pytest.approx(0.5), pytest.approx(-0.5)]]
    assert grads[1].tolist() == [[0.0]]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_small_types_are_computed_in_double_precision(dtype):
    scores = normal(0, 2, 16).to(dtype).requires_grad_()
    found = solve(matching(4), scores, no_pairs(2).to(dtype), [])
    exact = solve(matching(4), scores.detach().double(), no_pairs(2), [])
    assert found.marginals.dtype == dtype
    assert torch.equal(found.marginals.detach(), exact.marginals.to(dtype))
    assert torch.autograd.grad(found.marginals.sum(), scores)[0].dtype == dtype


@pytest.mark.parametrize("scale", [2.0, 1e3, 1e6])
def test_zeros_and_ones_are_exact(scale):
    found = solve(matching(6), normal(0, 3, 36, scale=scale), no_pairs(3), []).marginals
    assert ((found == 0) | (found > 1e-9)).all()
    assert ((found == 1) | (found < 1 - 1e-9)).all()
    assert (found == 0).sum() > 40
    assert not torch.signbit(found).any()


def test_a_warm_start_takes_fewer_iterations():
    """All together: an item whose set of active constraints changes may take as many as from nothing."""
    graph = grid(8)
    scores, pairs = normal(0, 16, 64), pairs_of(graph, 1, 16)
    cold = solve(graph, scores, pairs, [])
    near = scores + normal(2, 16, 64, scale=1e-4)
    warm, again = solve(graph, near, pairs, [], start=cold.state), solve(graph, near, pairs, [])
    assert 2 * warm.iterations.sum() < again.iterations.sum()
    torch.testing.assert_close(warm.marginals, again.marginals, atol=1e-10, rtol=0)
    table = Table(FEW, normal(5, 16, len(FEW)))
    first = solve(WITH_TABLE, scores[:, :6], pairs[:, :1], [table])
    warm = solve(WITH_TABLE, near[:, :6], pairs[:, :1], [table], start=first.state)
    assert warm.status.all()
    assert warm.iterations.sum() < first.iterations.sum()


def test_a_warm_start_from_variables_that_are_forbidden_now():
    scores = normal(0, 3, 16)
    start = solve(matching(4), scores, no_pairs(3), []).state
    likeliest = torch.from_numpy(start.marginals).argmax(-1, keepdim=True)
    scores.scatter_(1, likeliest, -torch.inf)
    warm, cold = (solve(matching(4), scores, no_pairs(3), [], start=given) for given in (start, None))
    assert warm.status.all()
    assert (warm.marginals.gather(1, likeliest) == 0).all()
    torch.testing.assert_close(warm.marginals, cold.marginals, atol=1e-10, rtol=0)


def test_no_convergence_warns_with_the_gap():
    scores, pairs = normal(0, 2, 64), pairs_of(grid(8), 1, 2)
    found = solve(grid(8), scores, pairs, [], max_iterations=3)
    with pytest.warns(UserWarning, match=r"2 of 2 graphs .* after 3 iterations: the gap is") as caught:
        warn_unless_converged(found)
    assert not found.status.any()
    assert f"{found.gap.max().item():.2g}" in str(caught[0].message)
    assert (found.gap > 0).all()
    assert (found.iterations == 3).all()


def test_an_infeasible_graph_never_converges():
    graph = layout(2, xor(0), xor(0, 1), xor(1))
    found = solve(graph, torch.zeros(1, 2, dtype=torch.float64), no_pairs(1), [], max_iterations=300)
    assert not found.status.any()
    assert torch.isfinite(found.marginals).all()
    with pytest.warns(UserWarning, match="the gap is"):
        warn_unless_converged(found)
    forbidden = torch.full((1, 2), -torch.inf, dtype=torch.float64)
    assert not solve(layout(2, xor(0, 1)), forbidden, no_pairs(1), [], max_iterations=300).status.any()


def test_an_infeasible_item_does_not_touch_its_neighbours():
    scores = normal(0, 2, 4)
    scores[0, :2] = -torch.inf
    graph = layout(4, xor(0, 1), at_most(1.0, 1, 2, 3))
    found = solve(graph, scores, no_pairs(2), [], max_iterations=200)
    with pytest.warns(UserWarning, match="1 of 2 graphs"):
        warn_unless_converged(found)
    assert found.status.tolist() == [False, True]
    alone = solve(graph, scores[1:], no_pairs(1), [])
    assert torch.equal(found.marginals[1], alone.marginals[0])


def test_the_gap_is_the_duality_gap():
    """Weak duality: the value of the marginals plus the gap is no less than the optimum, at any iteration."""
    scores, pairs = normal(0, 1, 9), pairs_of(grid(3), 1, 1)
    _, value = lp_sparsemap_marginals(grid(3), scores[0].numpy(), pairs[0].numpy())
    for most in (1, 2, 5, 8):
        found = solve(grid(3), scores, pairs, [], max_iterations=most)
        marginals = found.marginals[0].numpy()
        held = (
            objective(grid(3), scores[0].numpy(), pairs[0].numpy(), marginals) - 0.5 * marginals @ marginals
        )
        assert held + found.gap.item() >= value - 1e-12
    assert solve(grid(3), scores, pairs, []).gap.item() < 1e-13


def test_inputs_are_left_alone_and_inference_mode_is_borne():
    scores = normal(0, 2, 16)
    before = scores.clone()
    with torch.inference_mode():
        solve(matching(4), scores, no_pairs(2), [])
    assert torch.equal(scores, before)


def test_layouts_that_do_not_fit():
    with pytest.raises(ValueError, match="cannot be satisfied: costs sum to 0 at least and 2 at most"):
        layout(2, (BAND, (0, 1), 3.0, np.inf, 1.0))
    with pytest.raises(ValueError, match="cannot be satisfied"):
        layout(2, knapsack([1.0, 1.0], -0.5, 0, 1))
    with pytest.raises(ValueError, match="expected low <= high"):
        layout(2, (BAND, (0, 1), 1.0, 0.0, 1.0))
    with pytest.raises(ValueError, match="a variable more than once"):
        layout(2, xor(0, ~0))
    with pytest.raises(ValueError, match="copies has values from 0 to 2"):
        layout(2, xor(0, 2))
    with pytest.raises(ValueError, match="a pair of 3 variables"):
        layout(3, (PAIR, (0, 1, 2)))
    with pytest.raises(ValueError, match="expected an output"):
        layout(3, (OR_OUT, ()))
    with pytest.raises(ValueError, match="costs of factor 0"):
        layout(2, knapsack([1.0, np.nan], 1.0, 0, 1))
    with pytest.raises(ValueError, match="kind of factor 0 is 7"):
        layout(2, (7, (0, 1)))
    empty = np.zeros(0)
    with pytest.raises(ValueError, match="starts has 2 entries; expected 1"):
        Layout(2, empty, empty, np.zeros(2), empty, empty, empty, empty, empty)
    layout(3, knapsack([0.1, 0.2, 0.3], 0.0, 0, 1, 2), (BAND, (0, 1, 2), 0.1 * 3, np.inf, 0.1))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"scores": torch.zeros(2, 3)}, r"scores has shape \(2, 3\); expected \(batch, 6\)"),
        ({"scores": torch.zeros(2, 6, dtype=torch.int64)}, "scores has type torch.int64"),
        ({"scores": torch.full((2, 6), torch.nan)}, "scores has NaN"),
        ({"pair_scores": torch.full((2, 1), torch.inf)}, "pair_scores has NaN, "),
        ({"scores": torch.full((2, 6), -1e200, dtype=torch.float64)}, "numbers beyond 1e"),
        ({"pair_scores": torch.zeros(3, 1)}, "pair_scores has a batch of 3; scores has one of 2"),
        ({"pair_scores": torch.zeros(2, 0)}, r"pair_scores has shape \(2, 0\); expected \(batch, 1\)"),
        ({"oracles": []}, "there are 0 oracles; expected 1"),
        ({"curvature": 0.5}, "curvature is 0.5; expected 1.0 or 0.0"),
        ({"tol": 0.0}, "tol is 0.0; expected a positive number"),
        ({"max_iterations": 0}, "max_iterations is 0"),
        ({"max_iterations": 2.5}, "max_iterations is 2.5; expected a whole number"),
    ],
)
def test_arguments_that_do_not_fit(change, text):
    given = {
        "scores": torch.zeros(2, 6),
        "pair_scores": torch.zeros(2, 1),
        "oracles": [Table(FEW, torch.zeros(2, 5))],
        **change,
    }
    options = {key: given.pop(key) for key in ("curvature", "tol", "max_iterations") if key in given}
    with pytest.raises(ValueError, match=text):
        solve(WITH_TABLE, given["scores"], given["pair_scores"], given["oracles"], **options)


def test_a_start_of_another_shape():
    state = solve(matching(4), normal(0, 2, 16), no_pairs(2), []).state
    with pytest.raises(ValueError, match="start has a batch of 2 items; expected 3"):
        solve(matching(4), normal(0, 3, 16), no_pairs(3), [], start=state)
