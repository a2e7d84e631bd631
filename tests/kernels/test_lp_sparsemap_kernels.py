"""The closed forms of factors, their faces and the projection onto the intersection of faces."""

import itertools

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st
from tests.inference.tables import knapsack, layout, xor
from tests.inference.tables import or_out as or_factor
from tests.inference.tables import pair as pair_factor
from tests.quadratic_program import lp_sparsemap_marginals

from strukt.inference.lp_sparsemap.graph import OR_OUT, PAIR
from strukt.inference.lp_sparsemap.start import graph_of
from strukt.kernels.lp_sparsemap.band import FIXED, FREE, POOLED, band, band_support
from strukt.kernels.lp_sparsemap.faces import find_faces, orthonormal, project_across_faces
from strukt.kernels.lp_sparsemap.or_out import or_out, or_out_support
from strukt.kernels.lp_sparsemap.pair import APART, TOGETHER, best_joint, pair, pair_labels
from strukt.kernels.lp_sparsemap.polish import intersect
from strukt.kernels.lp_sparsemap.state import Faces

number = st.integers(-8, 8).map(lambda i: i / 4) | st.integers(-3000, 3000).map(lambda i: i / 1000)
scores = st.lists(number, min_size=1, max_size=6)


def project_band(x, costs, low, high):
    p, labels = np.empty(len(x)), np.empty(len(x), np.int8)
    tight = band(np.asarray(x, float), np.asarray(costs, float), float(low), float(high), p, labels)
    return p, labels, tight


def project_or(x):
    p, labels = np.empty(len(x)), np.empty(len(x), np.int8)
    tight = or_out(np.asarray(x, float), p, labels, np.empty(len(x)))
    return p, labels, tight


def truth(form, x, pair_score=None):
    value = None if pair_score is None else np.array([pair_score])
    return lp_sparsemap_marginals(layout(len(x), form), np.asarray(x, float), value)[0]


@given(scores, st.integers(0, 3), st.data())
def test_bands_equal_the_quadratic_program(x, form, data):
    d = len(x)
    costs = (
        [1.0] * d if form < 2 else data.draw(st.lists(st.integers(-2, 3).map(float), min_size=d, max_size=d))
    )
    least, most = sum(min(c, 0.0) for c in costs), sum(max(c, 0.0) for c in costs)
    bounds = sorted(data.draw(st.tuples(*[st.integers(0, 10).map(lambda i: i / 10)] * 2)))
    low, high = (least + b * (most - least) for b in bounds)
    low, high = ((high, high), (-np.inf, high), (low, np.inf), (low, high))[form]
    p, _, _ = project_band(x, costs, low, high)
    expected = truth((0, range(d), low, high, np.array(costs)), x)
    np.testing.assert_allclose(p, expected, atol=1e-9)


@given(scores)
def test_or_out_equals_the_quadratic_program(x):
    p, _, _ = project_or(x)
    np.testing.assert_allclose(p, truth(or_factor(*range(len(x))), x), atol=1e-9)


@given(number, number, number)
def test_pair_equals_the_quadratic_program(s, t, c):
    a, b, _ = pair(s, t, c)
    np.testing.assert_allclose([a, b], truth(pair_factor(0, 1), [s, t], c), atol=1e-9)


def test_pair_that_excludes_both():
    assert pair(0.9, 0.7, -np.inf)[:2] == pytest.approx((0.6, 0.4))
    assert pair(0.3, 0.2, -np.inf) == (0.3, 0.2, 0)


@pytest.mark.parametrize("scale", [1.0, 1e4, 1e8, 1e12])
def test_bands_of_huge_scores_keep_the_sum(scale):
    x = np.random.default_rng(0).normal(size=50) * scale
    x[:5] = x.max() + 0.1  # a tie, which shares what the bound allows
    p, _, _ = project_band(x, np.ones(50), 1.0, 1.0)
    assert p.sum() == pytest.approx(1.0, abs=1e-12)
    p, _, _ = project_band(x, np.linspace(-1, 2, 50), -np.inf, 0.0)
    assert p @ np.linspace(-1, 2, 50) <= 1e-12


def test_band_whose_bound_all_coordinates_meet():
    p, labels, _ = project_band([0.2, -5.0, 7.0], [0.1, 0.2, 0.3], 0.1 + 0.2 + 0.3, np.inf)
    np.testing.assert_allclose(p, 1.0)
    p, labels, _ = project_band([0.2, -5.0, 7.0], [0.1, 0.2, 0.3], -np.inf, 0.0)
    np.testing.assert_array_equal(p, 0.0)
    assert (labels == FIXED).all()


def test_band_with_costs_of_zero():
    p, labels, tight = project_band([0.4, 0.7, 0.9], [0.0, 1.0, 1.0], -np.inf, 1.0)
    np.testing.assert_allclose(p, [0.4, 0.4, 0.6])
    assert (labels == FREE).all()
    assert tight == 1


@given(scores, st.data())
def test_support_of_a_band_is_the_linear_program(x, data):
    d = len(x)
    costs = np.array(data.draw(st.lists(number, min_size=d, max_size=d)))
    middle = costs @ np.array(
        data.draw(st.lists(st.integers(0, 10).map(lambda i: i / 10), min_size=d, max_size=d))
    )
    for low, high in ((-np.inf, middle), (middle, np.inf), (middle, middle), (middle - 0.1, middle + 0.1)):
        rows = [(sign * costs, sign * bound) for sign, bound in ((1, high), (-1, low)) if np.isfinite(bound)]
        found = scipy.optimize.linprog(
            -np.array(x), np.array([row for row, _ in rows]), [bound for _, bound in rows], bounds=(0, 1)
        )
        assert band_support(np.array(x), costs, low, high) == pytest.approx(-found.fun, abs=1e-7)


@given(scores)
def test_support_of_an_or_is_the_best_assignment(x):
    choices = [[*y, max(y, default=0)] for y in itertools.product((0, 1), repeat=len(x) - 1)]
    assert or_out_support(np.array(x)) == pytest.approx(max(np.dot(y, x) for y in choices))


@given(st.floats(0, 1), st.floats(0, 1), st.floats(-2, 2))
def test_both_is_the_best_joint_probability(a, b, c):
    least, most = max(0.0, a + b - 1), min(a, b)
    assert c * best_joint(a, b, c) == pytest.approx(max(c * least, c * most))


def test_labels_of_an_or_say_what_moves_together():
    p, labels, tight = project_or([0.2, 0.9, -1.0, 0.5])
    np.testing.assert_allclose(p, [0.2, 0.7, 0.0, 0.7])
    assert (labels.tolist(), tight) == ([FREE, POOLED, FIXED, POOLED], 0)
    p, labels, tight = project_or([0.2, 0.1, -1.0, 0.9])
    np.testing.assert_allclose(p, [0.4, 0.3, 0.0, 0.7])
    assert (labels.tolist(), tight) == ([FREE, FREE, FIXED, FREE], 1)


@pytest.mark.parametrize(
    ("form", "x", "c"),
    [
        (xor(0, ~1, 2, 3), [0.5, 0.6, 0.3, -2.0], None),
        (knapsack([1.0, -2.0, 0.5], 0.1, 0, ~1, 2), [0.9, 0.8, 0.7], None),
        (or_factor(~0, 1, ~2, 3), [0.3, 0.9, 0.6, 0.4], None),
        (or_factor(~0, 1, 2, ~3), [0.8, 0.1, -1.0, 0.1], None),
        (pair_factor(0, ~1), [0.4, 0.55], 0.7),
        (pair_factor(0, 1), [0.7, 0.6], -0.9),
        (pair_factor(~0, ~1), [0.2, 0.15], -0.1),
        (pair_factor(0, 1), [0.2, 0.6], 0.1),
    ],
)
def test_faces_hold_the_derivative(form, x, c):
    """What leaves the face of one factor does not move its point; what stays moves it by itself."""
    one = layout(len(x), form)
    graph, m = graph_of(one, 1.0), len(x)
    labels, tight = np.zeros(m, np.int8), np.zeros(1, np.int8)

    def solve(x, c=c):
        q = np.where(one.negated, 1.0 - x[one.copies], x[one.copies])
        if form[0] == PAIR:
            a, b, region = pair(q[0], q[1], c)
            labels[:], tight[0], p = pair_labels(a, b, region), region, np.array([a, b])
        elif form[0] == OR_OUT:
            p, labels[:], tight[0] = project_or(q)
        else:
            p, labels[:], tight[0] = project_band(q, one.costs, one.low[0], one.high[0])
        return np.where(one.negated, 1.0 - p, p)

    x = np.array(x)
    solve(x)
    faces = Faces(
        np.zeros(m, np.int8), np.zeros(m), np.zeros(m), np.zeros(0), np.zeros(1, int), np.zeros(1, int)
    )
    find_faces(graph, np.ones(1), labels, tight, faces)
    for direction in np.random.default_rng(0).normal(size=(5, m)):
        moved = (solve(x + 1e-6 * direction) - solve(x - 1e-6 * direction)) / 2e-6
        across = direction.copy()
        project_across_faces(graph, faces, across)
        np.testing.assert_allclose(direction - across, moved, atol=1e-9)
        again = across.copy()
        project_across_faces(graph, faces, again)
        np.testing.assert_allclose(again, across, atol=1e-14)
    if c is not None:
        np.testing.assert_allclose(faces.tilts, (solve(x, c + 1e-6) - solve(x, c - 1e-6)) / 2e-6, atol=1e-9)


def test_regions_of_pairs_that_stay_on_a_line():
    assert pair(0.5, 0.6, 0.7)[2] == TOGETHER
    assert pair(0.7, 0.6, -0.9)[2] == APART


def test_orthonormal_basis_leaves_out_what_depends_on_others():
    directions = np.array([[1.0, 1, 0], [2.0, 2, 0], [0.0, 1, 1], [1.0, 2, 1]])
    basis = np.zeros((4, 3))
    count, tilt = orthonormal(directions, directions @ np.array([1.0, -2.0, 0.5]), basis)
    assert count == 2
    np.testing.assert_allclose(basis[:2] @ basis[:2].T, np.eye(2), atol=1e-15)
    np.testing.assert_allclose(directions @ tilt, directions @ np.array([1.0, -2.0, 0.5]), atol=1e-14)


def test_intersection_is_the_dense_projection():
    rng = np.random.default_rng(1)
    graph = graph_of(layout(6, xor(0, 1, ~2), xor(2, 3, 4), or_factor(1, 3, 5)), 1.0)
    m = len(graph.copies)
    labels = np.array([1, 1, 1, 1, 1, 0, 2, 1, 2], np.int8)
    faces = Faces(
        np.zeros(m, np.int8), np.zeros(m), np.zeros(m), np.zeros(0), np.zeros(3, int), np.zeros(3, int)
    )
    find_faces(graph, np.zeros(1), labels, np.array([1, 1, 0], np.int8), faces)
    dense = np.zeros((m, 6))
    for i in range(6):
        dense[:, i] = np.eye(6)[i][graph.copies]
        project_across_faces(graph, faces, dense[:, i])
    wanted, d, y = rng.normal(size=6), np.empty(6), np.empty(m)
    offset = dense @ rng.normal(size=6)
    intersect(graph, faces, np.ones(6), wanted, offset, d, y)
    np.testing.assert_allclose(d, wanted + np.linalg.pinv(dense) @ (offset - dense @ wanted), atol=1e-12)
    np.testing.assert_allclose(d, wanted - dense.T @ y, atol=1e-12)
