"""Mean field: a lower bound that grows with each sweep and is exact without pairs."""

import math

import pytest
import torch

from strukt import BinaryCRF


def model(n: int, scale: float = 1.0, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    given = scale * torch.randn(n, n, generator=generator, dtype=torch.float64).triu(1)
    return torch.randn(n, generator=generator, dtype=torch.float64), given + given.mT


def test_independent_variables_are_exact():
    unary, _ = model(5)
    found = BinaryCRF(unary, torch.zeros(5, 5, dtype=torch.float64)).mean_field(1)
    assert torch.allclose(found.marginals, unary.sigmoid())
    assert torch.allclose(found.lower_bound, torch.nn.functional.softplus(unary).sum())
    assert found.residual == 0


@pytest.mark.thinned("seed", "scale")
@pytest.mark.parametrize("scale", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("seed", range(5))
def test_each_sweep_raises_the_bound_which_stays_below_the_log_partition(scale, seed):
    unary, pairwise = model(9, scale, seed)
    found = BinaryCRF(unary, pairwise).mean_field(11)
    assert (found.free_energy.diff() <= 1e-12).all()
    torch.testing.assert_close(found.free_energy[-1], -found.lower_bound)
    assert found.lower_bound <= BinaryCRF(unary, pairwise).log_partition + 1e-12


def test_the_bound_is_the_score_of_samples_and_their_entropy():
    unary, pairwise = model(6)
    found = BinaryCRF(unary, pairwise).mean_field(50)
    events = BinaryCRF(unary, pairwise).enumerate_support()
    log_product = torch.where(events == 1, found.marginals.log(), (1 - found.marginals).log()).sum(-1)
    expected = (log_product.exp() * (BinaryCRF(unary, pairwise).score(events) - log_product)).sum()
    assert torch.allclose(found.lower_bound, expected)


def test_the_end_is_a_fixed_point_with_the_marginals_as_gradient():
    unary, pairwise = model(7, 0.5)
    leaf = unary.clone().requires_grad_()
    found = BinaryCRF(leaf, pairwise).mean_field(300)
    assert found.residual < 1e-12
    assert torch.allclose(found.marginals, (unary + pairwise @ found.marginals).sigmoid())
    (gradient,) = torch.autograd.grad(found.lower_bound, leaf)
    assert torch.allclose(gradient, found.marginals)


def test_derivatives_by_unrolling():
    unary, pairwise = (score.requires_grad_() for score in model(4))

    def both(unary: torch.Tensor, pairwise: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        found = BinaryCRF(unary, pairwise).mean_field(3)
        return found.marginals, found.lower_bound

    assert torch.autograd.gradcheck(both, (unary, pairwise))
    assert torch.autograd.gradgradcheck(both, (unary, pairwise))


def test_variables_that_exclude_each_other_are_never_both_one():
    unary = torch.tensor([1.0, 3.0, 2.0, -math.inf], requires_grad=True)
    pairwise = torch.full((4, 4), -math.inf).fill_diagonal_(0.0)
    found = BinaryCRF(unary, pairwise).mean_field(5)
    assert (found.marginals > 0).sum() == 1
    assert found.marginals[3] == 0
    assert found.lower_bound <= torch.logsumexp(torch.tensor([0.0, 1.0, 3.0, 2.0]), 0)
    (gradient,) = torch.autograd.grad(found.lower_bound, unary)
    assert gradient.isfinite().all()


@pytest.mark.parametrize("options", [{"schedule": "parallel"}, {"step_size": 0.5}, {"damping": 0.5}])
def test_what_is_excluded_costs_infinitely_much(options):
    """Updates that leave a probability to two that exclude each other give no bound."""
    pairwise = torch.zeros(3, 3, dtype=torch.float64)
    pairwise[1, 2] = pairwise[2, 1] = -math.inf
    crf = BinaryCRF(torch.tensor([0.0, 1.0, 2.0], dtype=torch.float64).requires_grad_(), pairwise)
    found = crf.mean_field(**options)
    both = (found.marginals[1] > 0) and (found.marginals[2] > 0)
    assert (found.lower_bound == -math.inf) == both
    assert found.lower_bound <= crf.log_partition
    found.marginals.sum().backward()
    assert crf.scores[0].grad.isfinite().all()


def test_the_method_knows_lengths_padding_and_requirements():
    unary, pairwise = model(6)
    padded = torch.full((2, 6), math.nan, dtype=torch.float64)
    padded[0], padded[1, :4] = unary, unary[:4]
    crf = BinaryCRF(padded, pairwise, torch.tensor([6, 4]))
    found = crf.mean_field(30)
    short = BinaryCRF(unary[:4], pairwise[:4, :4]).mean_field(30)
    assert torch.allclose(found.marginals[1, :4], short.marginals)
    assert (found.marginals[1, 4:] == 0).all()
    assert torch.allclose(found.lower_bound[1], short.lower_bound)
    first = torch.zeros(2, 6, dtype=torch.bool)
    first[:, 0] = True
    given = crf.condition(required=first)
    bound = given.mean_field(30)
    assert (bound.marginals[:, 0] == 1).all()
    assert (bound.lower_bound <= given.log_partition).all()
    rest = BinaryCRF(unary[1:] + pairwise[0, 1:], pairwise[1:, 1:]).mean_field(30)
    assert torch.allclose(bound.lower_bound[0], rest.lower_bound + unary[0])


def test_an_infeasible_condition_has_the_bound_minus_infinity():
    crf = BinaryCRF(torch.zeros(2), torch.full((2, 2), -math.inf))
    both = crf.condition(required=torch.ones(2, dtype=torch.bool))
    assert both.mean_field().lower_bound == both.log_partition == -math.inf


@pytest.mark.parametrize("regularizer", ["entropy", "sparsemax"])
@pytest.mark.parametrize("weight", [1.0, 0.3])
def test_each_sequential_sweep_lowers_the_free_energy(regularizer, weight):
    unary, pairwise = model(9, 2.0, 3)
    found = BinaryCRF(unary, pairwise).mean_field(30, weight=weight, regularizer=regularizer)
    assert found.free_energy.shape == found.energy.shape == (30,)
    assert (found.free_energy.diff() <= 1e-12).all()
    q = found.marginals
    torch.testing.assert_close(found.energy[-1], -(unary @ q + 0.5 * q @ pairwise @ q))
    entropy = -(q.xlogy(q) + (1 - q).xlogy(1 - q)) if regularizer == "entropy" else q - q.square()
    torch.testing.assert_close(found.free_energy[-1], found.energy[-1] - weight * entropy.sum())


def test_parallel_sweeps_swing_unless_they_are_damped():
    given = BinaryCRF(torch.tensor([4.0, 4.1]), torch.tensor([[0.0, -8.0], [-8.0, 0.0]]))
    swinging = given.mean_field(60, schedule="parallel")
    assert (swinging.free_energy.diff() > 1e-3).any()
    assert swinging.residual > 0.1
    for option in ({"damping": 0.5}, {"step_size": 0.5}):
        calm = given.mean_field(400, schedule="parallel", tol=1e-7, **option)
        assert calm.status
        q = calm.marginals
        torch.testing.assert_close(q, (given.scores[0] + given.scores[1] @ q).sigmoid(), atol=1e-5, rtol=0)


def test_one_parallel_sweep_is_the_formula():
    unary, pairwise = model(6)
    crf, start = BinaryCRF(unary, pairwise), unary.sigmoid()
    new = (unary + pairwise @ start).sigmoid()
    torch.testing.assert_close(crf.mean_field(1, schedule="parallel").marginals, new)
    half = crf.mean_field(1, schedule="parallel", step_size=0.25).marginals
    torch.testing.assert_close(half, 0.25 * new + 0.75 * start)
    damped = crf.mean_field(1, schedule="parallel", damping=0.25).marginals
    torch.testing.assert_close(damped, (0.75 * (unary + pairwise @ start) + 0.25 * unary).sigmoid())
    sharp = crf.mean_field(1, schedule="parallel", weight=0.5).marginals
    torch.testing.assert_close(sharp, (2 * (unary + pairwise @ (2 * unary).sigmoid())).sigmoid())


def test_sparsemax_makes_certain():
    unary, pairwise = model(12, 1.0, 1)
    found = BinaryCRF(3 * unary, pairwise).mean_field(200, regularizer="sparsemax", tol=1e-9)
    assert found.status
    assert ((found.marginals == 0) | (found.marginals == 1)).sum() >= 6
    q = found.marginals
    torch.testing.assert_close(q, ((3 * unary + pairwise @ q + 1) / 2).clamp(0, 1))


@pytest.mark.thinned("option", "schedule")
@pytest.mark.parametrize("schedule", ["sequential", "parallel"])
@pytest.mark.parametrize("option", [{}, {"step_size": 0.5}, {"damping": 0.4}])
def test_implicit_gradients_are_those_of_many_sweeps(schedule, option):
    scores = [score.requires_grad_() for score in model(5, 0.4)]
    weights = torch.arange(1.0, 6.0, dtype=torch.float64)

    def answers(gradients):
        options = {"schedule": schedule, "gradients": gradients, **option}
        found = BinaryCRF(*scores).mean_field(200, **options)
        total = (found.marginals * weights).sum() + found.lower_bound
        return found.marginals, found.free_energy, *torch.autograd.grad(total, scores)

    torch.testing.assert_close(answers("implicit"), answers("unrolled"))


def test_implicit_gradients_in_single_precision(recwarn):
    for seed in range(8):
        unary, pairwise = (score.float().requires_grad_() for score in model(6, 0.5, seed))
        sums = [
            BinaryCRF(unary, pairwise).mean_field(sweeps, gradients=gradients, tol=1e-6).marginals.sum()
            for sweeps, gradients in ((200, "unrolled"), (200, "implicit"))
        ]
        unrolled, implicit = (torch.autograd.grad(total, unary)[0] for total in sums)
        torch.testing.assert_close(implicit, unrolled, atol=1e-5, rtol=1e-4)
    assert not recwarn.list


def test_each_variable_may_have_its_settings():
    unary, pairwise = model(3)
    steps, damping, weight = torch.tensor([[1.0, 0.5, 0.25], [0.0, 0.3, 0.6], [1.0, 2.0, 0.5]]).double()
    found = BinaryCRF(unary, pairwise).mean_field(
        1, schedule="parallel", step_size=steps, damping=damping, weight=weight
    )
    start = (unary / weight).sigmoid()
    message = (1 - damping) * (unary + pairwise @ start) + damping * unary
    torch.testing.assert_close(found.marginals, steps * (message / weight).sigmoid() + (1 - steps) * start)
    for name, wrong in (
        ("step_size", [1.0, 0.0, 1.0]),
        ("damping", [0.0, 1.0, 0.0]),
        ("weight", [1.0, 0.0, 1.0]),
    ):
        with pytest.raises(ValueError, match=f"{name} is tensor"):
            BinaryCRF(unary, pairwise).mean_field(**{name: torch.tensor(wrong)})
        for shape in ((2,), (2, 3)):
            with pytest.raises(ValueError, match=rf"{name} has shape .*; expected a number or \(3,\)"):
                BinaryCRF(unary, pairwise).mean_field(**{name: torch.full(shape, 0.5)})


def test_implicit_gradients_that_are_not_found_are_warned_of():
    """Two halves are a point of rest for damped updates, from which others lead away."""
    unary = torch.tensor([4.0, 4.0], requires_grad=True)
    crf = BinaryCRF(unary, torch.tensor([[0.0, -8.0], [-8.0, 0.0]]))
    found = crf.mean_field(200, schedule="parallel", damping=0.5, gradients="implicit")
    assert found.marginals.tolist() == pytest.approx([0.5, 0.5])
    with pytest.warns(UserWarning, match="the implicit gradient of mean_field is off by"):
        found.marginals.sum().backward()


@pytest.mark.parametrize("differentiable", ["unary", "pairwise"])
def test_a_second_derivative_of_implicit_gradients_is_refused(differentiable):
    """It was silently that of the last sweep alone."""
    unary, pairwise = model(4, 0.4)
    leaf = (unary if differentiable == "unary" else pairwise).requires_grad_()
    total = BinaryCRF(unary, pairwise).mean_field(200, gradients="implicit").marginals.sum()
    (gradient,) = torch.autograd.grad(total, leaf, create_graph=True)
    with pytest.raises(RuntimeError, match="has no second derivative; use gradients='unrolled'"):
        torch.autograd.grad(gradient.sum(), leaf)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script. is deprecated:DeprecationWarning")  # PyTorch's own
def test_implicit_gradients_under_torch_func():
    unary, pairwise = model(4, 0.4)

    def marginals(unary, gradients="implicit"):
        return BinaryCRF(unary, pairwise).mean_field(200, gradients=gradients).marginals

    with pytest.raises(NotImplementedError, match="do not work under torch"):
        torch.func.jacrev(marginals)(unary)
    forward = torch.func.jacfwd(marginals)(unary)
    torch.testing.assert_close(forward, torch.func.jacrev(lambda unary: marginals(unary, "unrolled"))(unary))


def test_items_stop_when_they_rest():
    models = [model(5, scale, 1) for scale in (0.0, 1.0)]
    crf = BinaryCRF(*(torch.stack(each) for each in zip(*models, strict=True)))
    found = crf.mean_field(100, tol=1e-8)
    assert found.status.all()
    assert found.iterations[0] == 1 < found.iterations[1] < 100
    assert found.free_energy.shape == (2, int(found.iterations.max()))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"iterations": 0}, "iterations is 0; expected at least 1"),
        ({"schedule": "random"}, "schedule is 'random'; expected sequential or parallel"),
        ({"step_size": 0.0}, "step_size is 0.0; expected a number above 0 and up to 1"),
        ({"damping": 1.0}, "damping is 1.0"),
        ({"weight": 0.0}, "weight is 0.0; expected more than 0"),
        ({"regularizer": "norm"}, "regularizer is 'norm'; expected entropy or sparsemax"),
        ({"gradients": "none"}, "gradients is 'none'; expected unrolled or implicit"),
    ],
)
def test_options_that_cannot_be(options, message):
    with pytest.raises(ValueError, match=message):
        BinaryCRF(torch.zeros(2), torch.zeros(2, 2)).mean_field(**options)


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3)])
def test_nothing_at_all(shape):
    found = BinaryCRF(torch.zeros(shape), torch.zeros(*shape, shape[-1])).mean_field(3, tol=1e-3)
    assert found.marginals.shape == shape
    assert found.lower_bound.shape == shape[:-1]
