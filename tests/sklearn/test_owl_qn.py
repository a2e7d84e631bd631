"""OWL-QN and L-BFGS on objectives whose minimum is known."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from strukt.sklearn.owl_qn import Curvature, Stopping, minimise, pseudo_gradient

EXACT = Stopping(epsilon=1e-9, delta=0.0)


def quadratic(matrix, centre):
    """Half of (x - centre)' matrix (x - centre), and its gradient."""

    def objective(x):
        change = matrix @ (x - centre)
        return float((x - centre) @ change) / 2, change

    return objective


def logistic(rows, signs):
    """The logistic loss, summed over rows."""

    def objective(w):
        margins = signs * (rows @ w)
        return float(np.logaddexp(0.0, -margins).sum()), -rows.T @ (signs / (1 + np.exp(margins)))

    return objective


def positive_definite(n, seed):
    factor = np.random.default_rng(seed).standard_normal((n, n))
    return factor @ factor.T + np.eye(n)


@pytest.mark.parametrize("seed", range(2))
def test_without_a_penalty_the_minimum_of_a_quadratic_is_its_centre(seed):
    centre = np.random.default_rng(seed).standard_normal(12)
    minimum = minimise(quadratic(positive_definite(12, seed), centre), np.zeros(12), stopping=EXACT)
    np.testing.assert_allclose(minimum.point, centre, atol=1e-6)
    assert minimum.value == pytest.approx(0.0, abs=1e-9)
    assert minimum.converged


@pytest.mark.parametrize("l1", [0.1, 1.0, 10.0])
def test_a_diagonal_quadratic_with_a_penalty_is_shrunk(l1):
    generator = np.random.default_rng(0)
    diagonal, centre = generator.uniform(0.5, 5.0, 50), 3 * generator.standard_normal(50)
    minimum = minimise(quadratic(np.diag(diagonal), centre), np.zeros(50), l1, EXACT)
    expected = np.sign(centre) * np.maximum(np.abs(centre) - l1 / diagonal, 0)
    np.testing.assert_allclose(minimum.point, expected, atol=1e-7)
    assert ((minimum.point == 0) == (expected == 0)).all()  # zeros are exact


@pytest.mark.parametrize("seed", range(2))
def test_the_minimum_with_a_penalty_is_stationary(seed):
    generator = np.random.default_rng(seed)
    rows, signs = generator.standard_normal((80, 30)), np.sign(generator.standard_normal(80))
    objective = logistic(rows, signs)
    minimum = minimise(objective, np.zeros(30), 3.0, EXACT)
    _, gradient = objective(minimum.point)
    assert 0 < (minimum.point != 0).sum() < 30
    assert np.abs(pseudo_gradient(minimum.point, gradient, 3.0)).max() < 1e-5
    assert (np.abs(gradient[minimum.point == 0]) <= 3.0 + 1e-5).all()
    np.testing.assert_allclose(
        gradient[minimum.point != 0], -3.0 * np.sign(minimum.point[minimum.point != 0]), atol=1e-5
    )
    assert minimum.value == pytest.approx(objective(minimum.point)[0] + 3.0 * np.abs(minimum.point).sum())


@pytest.mark.parametrize("l1", [0.0, 1.0])
def test_a_bound_of_iterations_is_kept_and_told(l1):
    objective = quadratic(positive_definite(40, 0), np.full(40, 5.0))
    values = []
    minimum = minimise(
        objective, np.zeros(40), l1, Stopping(max_iterations=3), lambda *seen: values.append(seen[:2])
    )
    assert (minimum.iterations, minimum.converged) == (3, False)
    assert [number for number, _ in values] == [1, 2, 3]
    assert values[-1][1] == pytest.approx(minimum.value)
    losses = [value for _, value in values]
    assert losses == sorted(losses, reverse=True)


@pytest.mark.parametrize("l1", [0.0, 1.0])
def test_a_minimum_at_the_start_takes_no_step(l1):
    minimum = minimise(quadratic(np.eye(3), np.zeros(3)), np.zeros(3), l1)
    assert (minimum.iterations, minimum.converged, minimum.value) == (0, True, 0.0)


@pytest.mark.parametrize("l1", [0.0, 1.0])
def test_vectors_are_multiplied_on_one_thread(l1):
    def threads():
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    before, seen, squares = threads(), [], quadratic(np.eye(3), np.full(3, 2.0))
    minimise(squares, np.zeros(3), l1, report=lambda *_: seen.extend(threads()))
    assert set(seen) == {1}
    assert threads() == before


def test_the_threads_of_blas_are_restored_by_the_last_of_two_searches():
    def threads():
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    def search(begun, leave):
        def wait(*_):
            begun.set()
            assert leave.wait(60)

        minimise(quadratic(np.eye(3), np.full(3, 2.0)), np.zeros(3), 1.0, report=wait)

    before, searches = threads(), []
    for _ in range(2):
        begun, leave = threading.Event(), threading.Event()
        searches.append((threading.Thread(target=search, args=(begun, leave)), leave))
        searches[-1][0].start()
        assert begun.wait(60)
    for thread, leave in searches:
        leave.set()
        thread.join()
    assert threads() == before


def test_steps_do_not_shrink_where_a_coordinate_approaches_zero():
    """Steps are cut where a coordinate reaches 0: the others alone might ascend, for any length of step."""
    generator = np.random.default_rng(322)
    rows = generator.standard_normal((40, 10)) * 10 ** generator.uniform(-1, 1.5, 10)
    rows += 3 * generator.standard_normal((40, 1))
    objective = logistic(rows, np.sign(generator.standard_normal(40)))
    minimum = minimise(objective, np.zeros(10), 0.1, Stopping(250, epsilon=1e-6, delta=0.0))
    assert minimum.converged
    assert np.abs(pseudo_gradient(minimum.point, objective(minimum.point)[1], 0.1)).max() < 1e-4


def test_slow_progress_ends_the_search():
    objective = quadratic(positive_definite(60, 1), np.random.default_rng(1).standard_normal(60))
    long = minimise(objective, np.zeros(60), 0.5, EXACT)
    short = minimise(objective, np.zeros(60), 0.5, Stopping(period=2, delta=0.1))
    assert short.iterations < long.iterations
    assert short.converged
    assert short.value > long.value


def test_the_pseudo_gradient_is_the_shortest_subgradient():
    point, gradient = np.array([2.0, -2.0, 0.0, 0.0, 0.0]), np.array([0.5, 0.5, 3.0, -3.0, 0.5])
    np.testing.assert_array_equal(pseudo_gradient(point, gradient, 1.0), [1.5, -0.5, 2.0, -2.0, 0.0])


def test_curvature_inverts_a_hessian_that_it_has_seen():
    matrix, curvature, all_free = np.diag([1.0, 4.0, 9.0]), Curvature(), np.arange(3)
    for step in np.eye(3):
        curvature.update(step, matrix @ step)
    np.testing.assert_allclose(curvature.direction(np.array([1.0, 4.0, 9.0]), all_free), [-1.0, -1.0, -1.0])
    curvature.update(np.ones(3), np.zeros(3))  # teaches nothing
    np.testing.assert_allclose(curvature.direction(np.array([1.0, 4.0, 9.0]), all_free), [-1.0, -1.0, -1.0])


@pytest.mark.parametrize("free", [[], [1], [0, 2], [0, 1, 2]])
def test_directions_descend_whichever_coordinates_are_free(free):
    generator, curvature = np.random.default_rng(0), Curvature()
    matrix = positive_definite(3, 0)
    for step in generator.standard_normal((5, 3)):
        curvature.update(step, matrix @ step)
    slope, free = generator.standard_normal(3), np.array(free, np.int64)
    direction = curvature.direction(slope, free)
    assert (direction * slope)[free].sum() < 0 or not len(free)
    others = np.setdiff1d(np.arange(3), free)
    scale = step @ matrix @ step / np.square(matrix @ step).sum()
    np.testing.assert_allclose(direction[others], -scale * slope[others])
    steeper = slope + np.isin(np.arange(3), others)  # what is not free has no influence on what is
    np.testing.assert_allclose(curvature.direction(steeper, free)[free], direction[free])
