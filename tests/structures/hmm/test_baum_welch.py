"""Fits of hidden Markov models: steps, priors, restarts, gradients and criteria."""

import math
import re
from functools import partial

import pytest
import torch
from tests.structures.hmm import enumerated_hmm as enumerated
from tests.structures.hmm.enumerated_hmm import (
    KINDS,
    VECTORS,
    model,
    model_of_vectors,
    normal,
    observations,
    words,
)

from strukt import (
    HMM,
    Blocked,
    Embedded,
    Gaussian,
    GaussianMixture,
    GaussianPrior,
    Poisson,
    PoissonPrior,
    Priors,
)

LENGTHS = torch.tensor([6, 0, 1, 4, 6])
LBFGS = partial(torch.optim.LBFGS, max_iter=20, line_search_fn="strong_wolfe")


def prior_of(hmm):
    if isinstance(hmm.emission, Poisson):
        return PoissonPrior(total=2.0, weight=1.5)
    return GaussianPrior(mean=0.5, mean_weight=0.7, scatter=0.3, scatter_weight=1.2, concentration=1.4)


def some_priors(hmm):
    return Priors(initial=1.5, transition=torch.rand(3, 3, dtype=torch.float64) + 1, emission=prior_of(hmm))


def assert_same(one, other, rtol=1e-10):
    for mine, theirs in zip(one.unconstrained(), other.unconstrained(), strict=True):
        assert torch.allclose(mine, theirs, rtol=rtol, atol=1e-10)


@pytest.mark.parametrize("kind", VECTORS)
def test_a_step_is_where_the_expected_density_has_no_slope(kind):
    """Expectations from enumeration; with priors, and with covariances that are shared."""
    hmm = model_of_vectors(kind)
    x = observations(hmm, 5, 6)
    priors = some_priors(hmm)
    after = hmm.maximised(hmm.expected_counts(x, LENGTHS), priors)
    leaves = [numbers.detach().requires_grad_() for numbers in after.unconstrained()]
    candidate = after.from_unconstrained(leaves)
    total = candidate.log_prior(priors)
    for sequence, length in zip(x, LENGTHS.tolist(), strict=True):
        if length:
            posterior = enumerated.joint(hmm, sequence[:length])[1].softmax(0)
            if isinstance(hmm.emission, GaussianMixture):
                total = total + expected_of_components(hmm, candidate, sequence[:length], posterior)
            else:
                total = total + (posterior * enumerated.joint(candidate, sequence[:length])[1]).sum()
    for slope, leaf in zip(torch.autograd.grad(total, leaves), leaves, strict=True):
        assert torch.allclose(slope, torch.zeros_like(leaf), atol=1e-8)


def expected_of_components(hmm, candidate, x, posterior):
    """Expected log-probability of the states, and of the components that the states choose."""
    paths = (posterior * enumerated.joint(candidate, x)[1]).sum()
    states = enumerated.posterior(hmm, x)
    old, new = (parts_of(some.emission, x) for some in (hmm, candidate))
    return paths + (states.unsqueeze(2) * old.softmax(2) * new).sum() - (states * new.logsumexp(2)).sum()


def parts_of(emission, x):
    z, m, _ = emission.means.shape
    whole = emission.covariances.expand(z, m, *emission.covariances.shape[2:])
    parts = [enumerated.normal_scores(x, emission.means[:, part], whole[:, part]) for part in range(m)]
    return torch.stack(parts, 2) + emission.logits.log_softmax(1)


@pytest.mark.parametrize("kind", [*KINDS, *VECTORS])
def test_steps_rise_and_batches_add_up(kind):
    hmm = model(kind, v=5) if kind in KINDS else model_of_vectors(kind)
    x = words(5, 6, v=5, seed=3) if kind in KINDS else observations(hmm, 5, 6)
    priors = Priors(emission=1.5 if kind in KINDS else prior_of(hmm))
    counts = hmm.expected_counts(x[:2], LENGTHS[:2]) + hmm.expected_counts(x[2:], LENGTHS[2:])
    assert torch.allclose(counts.log_prob, hmm.log_prob(x, LENGTHS).sum())
    one = hmm.fit(x, LENGTHS, steps=1, priors=priors).model
    assert_same(one, hmm.maximised(counts, priors))
    fit = hmm.fit(x, LENGTHS, steps=40, tolerance=1e-3, priors=priors)
    assert (fit.log_probs.diff()[:-1] > 1e-3).all()
    reached = fit.model.log_prob(x, LENGTHS).sum() + fit.model.log_prior(priors)
    assert reached > fit.log_probs[-1] - 1e-9
    assert fit.converged == (len(fit.log_probs) < 40)


@pytest.mark.parametrize(
    "kind",
    [
        *(pytest.param(kind, marks=() if kind == "dense" else pytest.mark.slow) for kind in KINDS),
        "full",
        *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("mixture", "rows of counts")),
    ],
)
def test_gradients_reach_where_em_ends(kind):
    hmm = model(kind, v=5) if kind in KINDS else model_of_vectors(kind)
    x = words(8, 6, v=5, seed=3) if kind in KINDS else observations(hmm, 8, 6)
    priors = Priors(1.5, 1.5, 1.5 if kind in KINDS else prior_of(hmm))
    if kind in KINDS and kind != "dense":  # priors of rows of factors are not those of the band's own logits
        priors = Priors(1.5, 1.0, 1.5)
    by_em = hmm.fit(x, steps=300, tolerance=1e-7, priors=priors)
    by_gradients = by_em.model.fit(x, steps=5, priors=priors, optimizer=LBFGS)
    assert 0 <= by_gradients.log_probs[0] - by_em.log_probs[-1] < 1e-2
    assert by_gradients.log_probs[-1] - by_em.log_probs[-1] < 0.5
    alone = hmm.fit(x, steps=10, tolerance=1e-6, priors=priors, optimizer=LBFGS)
    assert alone.log_probs[-1] > alone.log_probs[0] + 1
    assert (alone.log_probs.diff() > -1e-9).all()


def test_gradients_fit_what_has_no_closed_form():
    emission = Embedded(normal(3, 2), normal(5, 2, seed=1))
    hmm = HMM(normal(3), normal(3, 3), emission)
    x = words(6, 8, v=5)
    with pytest.raises(NotImplementedError, match=r"fit\(x, lengths, optimizer=torch.optim.Adam\)"):
        hmm.fit(x)
    fit = hmm.fit(x, steps=20, tolerance=-math.inf, restarts=1, optimizer=partial(torch.optim.Adam, lr=0.05))
    assert len(fit.log_probs) == 20
    assert fit.log_probs[-1] > fit.log_probs[0]
    assert not fit.model.emission.vectors.requires_grad


def test_priors_of_words_add_counts():
    hmm, x = model("dense", v=5), words(4, 6, v=5)
    counts = hmm.expected_counts(x)
    flat = hmm.maximised(counts)
    assert_same(flat, hmm.maximised(counts, Priors(1.0, 1.0, 1.0)))
    after = hmm.maximised(counts, Priors(2.0, torch.full((3, 3), 3.0), 1.5))
    for ours, added, count in (
        (after.initial, 1.0, counts.initial),
        (after.transition.logits, 2.0, counts.matrices[0]),
        (after.emission.logits, 0.5, counts.emission),
    ):
        expected = count + added
        assert torch.allclose(ours.exp(), expected / expected.sum(-1, keepdim=True))
    sparse = hmm.maximised(counts, Priors(transition=0.0))
    assert torch.allclose(sparse.transition.logits.exp().sum(1), torch.ones(3, dtype=torch.float64))
    assert (sparse.transition.logits == -math.inf).any()


def test_what_is_forbidden_stays_so_under_priors_and_restarts():
    left_to_right = torch.zeros(3, 3).masked_fill(torch.ones(3, 3).tril(-1).bool(), -math.inf)
    hmm = HMM(torch.tensor([0.0, -math.inf, -math.inf]), left_to_right, normal(3, 5).float())
    fit = hmm.fit(words(9, 6, v=5), steps=3, restarts=2, priors=Priors(2.0, 2.0, 2.0))
    assert torch.equal(fit.model.transition.logits == -math.inf, left_to_right == -math.inf)
    assert (fit.model.initial[1:] == -math.inf).all()


@pytest.mark.parametrize("kind", VECTORS)
def test_states_that_never_occur_keep_their_parameters(kind):
    """Also where they are so far away that their weights underflow to nothing."""
    hmm = model_of_vectors(kind)
    hmm = HMM(
        torch.tensor([0.0, 0.0, -math.inf]).double(),
        torch.tensor([[0.0, 0, -math.inf]] * 3).double(),
        hmm.emission,
    )
    after = hmm.fit(observations(hmm, 4, 6), steps=3).model
    for before, now in zip(hmm.emission.parameters, after.emission.parameters, strict=True):
        if len(now) == 3:
            assert torch.equal(before[2], now[2])
            assert not torch.allclose(before[0], now[0])
        assert now.isfinite().all()
    assert after.log_prob(observations(hmm, 4, 6)).isfinite().all()


@pytest.mark.parametrize("form", [(2, 2), (2, 1), (1, 2), (2, 2, 2), (1, 2, 2)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_no_state_shrinks_onto_one_observation(form, dtype):
    """Nor onto a line, nor where a dimension is constant."""
    x = torch.tensor([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0], [100.0, 5.0]], dtype=dtype)
    covariances = torch.ones(form, dtype=dtype) if len(form) == 2 else torch.eye(2, dtype=dtype).expand(form)
    means = torch.tensor([[1.0, 5.0], [100.0, 5.0]], dtype=dtype)
    hmm = HMM(torch.zeros(2, dtype=dtype), torch.zeros(2, 2, dtype=dtype), Gaussian(means, covariances))
    fitted = hmm.fit(x.expand(3, 4, 2), steps=20).model
    HMM(fitted.initial, fitted.transition, fitted.emission)  # checks its parameters
    assert fitted.log_prob(x).isfinite()
    assert fitted.emission.means[1].tolist() == [100.0, 5.0]


def test_large_numbers_far_from_zero_lose_no_digits():
    torch.manual_seed(0)
    x = torch.randn(500, 1, dtype=torch.float64) + torch.where(torch.rand(500, 1) < 0.5, 0.0, 6.0)

    def fitted(shift, dtype):
        start = Gaussian(torch.tensor([[0.0], [5.0]], dtype=dtype) + shift, torch.ones(2, 1, dtype=dtype))
        parts = (part.to(dtype) for part in (torch.zeros(2), torch.zeros(2, 2)))
        return HMM(*parts, start).fit((x + shift).to(dtype), steps=5).model.emission

    near, far = fitted(0.0, torch.float64), fitted(1e6, torch.float64)
    assert torch.allclose(far.covariances, near.covariances, rtol=1e-6)
    assert torch.allclose(fitted(1e3, torch.float32).covariances.double(), near.covariances, rtol=1e-3)


def test_counts_of_zero_leave_a_rate():
    hmm = HMM(torch.zeros(2), torch.zeros(2, 2), Poisson(torch.tensor([0.1, 9.0])))
    fitted = hmm.fit(torch.tensor([0, 0, 0, 10, 11, 0, 0]), steps=30).model
    assert 0 < fitted.emission.rates[0] < 1e-2
    assert fitted.log_prob(torch.tensor([1])).isfinite()


@pytest.mark.parametrize("kind", ["diagonal", "full", "tied", "mixture", "counts", "rows of counts"])
def test_restarts_find_the_states_from_any_start(kind):
    """Only restarts can leave a start where all states are the same."""
    torch.manual_seed(3)
    true = model_of_vectors(kind)
    emission = true.emission
    spread = 40.0 * torch.arange(3, dtype=torch.float64)
    if kind == "counts":
        emission = Poisson(spread + 1)
    elif kind == "rows of counts":
        emission = Poisson(torch.stack([spread + 1, spread.flip(0) + 1], 1))
    elif kind == "mixture":
        emission = GaussianMixture(
            emission.logits, emission.means + spread.view(-1, 1, 1), emission.covariances
        )
    else:
        emission = Gaussian(emission.means + spread.unsqueeze(1), emission.covariances)
    true = HMM(true.initial, true.transition, emission)
    x = true.sample((10,), 30)
    same = emission.select(torch.zeros(3, dtype=torch.int64))
    form = HMM(torch.zeros(3).double(), torch.zeros(3, 3).double(), same)
    poor, good = (form.fit(x, restarts=count) for count in (0, 5))
    assert good.log_probs[-1] > poor.log_probs[-1] + 100
    assert good.log_probs[-1] > true.log_prob(x).sum() - 5


@pytest.mark.parametrize(
    ("emission", "prior", "field"),
    [
        (Gaussian(torch.zeros(2, 1), torch.ones(2, 1)), GaussianPrior(mean=torch.zeros(3)), "mean"),
        (
            Gaussian(torch.zeros(2, 1), torch.ones(2, 1)),
            GaussianPrior(mean_weight=torch.ones(2, 1)),
            "mean_weight",
        ),
        (Gaussian(torch.zeros(2, 1), torch.ones(2, 1)), GaussianPrior(scatter=torch.ones(3)), "scatter"),
        (
            Gaussian(torch.zeros(2, 1), torch.ones(1, 1)),
            GaussianPrior(scatter_weight=torch.ones(2)),
            "scatter_weight",
        ),
        (Poisson(torch.ones(2, 1)), PoissonPrior(total=torch.ones(3)), "total"),
        (Poisson(torch.ones(2, 1)), PoissonPrior(weight=torch.ones(3)), "weight"),
    ],
    ids=["mean", "mean_weight", "scatter", "scatter_weight", "total", "weight"],
)
def test_priors_fit_the_parameters(emission, prior, field):
    hmm, priors = HMM(torch.zeros(2), torch.zeros(2, 2), emission), Priors(emission=prior)
    counts = hmm.expected_counts(torch.tensor([[1.0], [2.0]]))
    for call in (partial(hmm.maximised, counts), hmm.log_prior):
        with pytest.raises(ValueError, match=rf"priors\.emission\.{field} has shape .*; expected one that"):
            call(priors)


def test_restarts_repeat_with_a_seed_and_words_have_them_too():
    hmm, x = model("low rank", v=5), words(6, 8, v=5)
    fits = []
    for _ in range(2):
        torch.manual_seed(5)
        fits.append(hmm.fit(x, steps=5, restarts=3))
    assert torch.equal(fits[0].log_probs, fits[1].log_probs)
    assert fits[0].log_probs[-1] >= hmm.fit(x, steps=5).log_probs[-1]
    blocked = HMM(normal(4), normal(4, 4), Blocked(normal(2, 5), torch.tensor([0, 1, 0, 1, 1]), 2))
    assert blocked.fit(x, steps=3, restarts=1).model.log_prob(x).isfinite().all()


def test_a_model_that_finds_some_impossible_is_no_winner():
    stuck = HMM(torch.zeros(2), torch.zeros(2, 2), torch.tensor([[0.0, 0.0, -math.inf]] * 2))
    x = torch.tensor([[0, 0, 0, 0], [1, 2, 1, 2]])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            HMM, "redrawn", lambda self, *_: HMM(torch.zeros(2), torch.zeros(2, 2), normal(2, 3).float())
        )
        assert stuck.fit(x, steps=2, restarts=1).model.log_prob(x).isfinite().all()


@pytest.mark.parametrize("optimizer", [None, torch.optim.Adam])
def test_sequences_that_are_left_out_are_told(optimizer):
    stuck = HMM(torch.zeros(2), torch.zeros(2, 2), torch.tensor([[0.0, 0.0, -math.inf]] * 2))
    x = torch.tensor([[0, 0, 0, 0], [1, 2, 1, 2], [2, 2, 0, 1]])
    with pytest.warns(UserWarning, match="^2 sequences have probability 0 under the model, so the fit left them"):
        stuck.fit(x, steps=2, optimizer=optimizer)
    with pytest.warns(UserWarning, match="^1 sequence has probability 0"):
        stuck.fit(x[:2], steps=2, optimizer=optimizer)


def test_a_column_of_words_with_lengths_is_a_concatenation():
    hmm, x = model("dense"), torch.zeros(5, 1, dtype=torch.long)
    with pytest.raises(ValueError, match=r"x has shape \(5, 1\) .* strukt.pad_concatenated\(x\[:, 0\], lengths\)"):
        hmm.fit(x, [2, 3])
    assert hmm.log_prob(x, [1] * 5).shape == (5,)  # five sequences of one word


def chosen_numbers(form):
    return {
        "diagonal": 6 + 6,
        "spherical": 6 + 3,
        "tied variances": 6 + 2,
        "full": 6 + 9,
        "tied": 6 + 3,
        "mixture": 3 + 12 + 12,
        "full mixture": 3 + 12 + 18,
        "tied mixture": 3 + 12 + 6,
        "counts": 3,
        "rows of counts": 6,
    }[form]


@pytest.mark.parametrize("kind", VECTORS)
def test_criteria_count_what_can_be_chosen(kind):
    hmm = model_of_vectors(kind)
    x = observations(hmm, 5, 6)
    free = 2 + 6 + chosen_numbers(kind)
    assert hmm.free_parameters == free
    log_prob = hmm.log_prob(x, LENGTHS).sum()
    assert torch.allclose(hmm.bic(x, LENGTHS), free * math.log(17) - 2 * log_prob)
    assert torch.allclose(hmm.aic(x, LENGTHS), 2 * free - 2 * log_prob)


def test_criteria_of_words_count_what_a_fit_has_found_to_be_impossible():
    hmm = model("dense")
    assert hmm.free_parameters == 2 + 6 + 9
    fitted = hmm.fit(torch.tensor([0, 1, 1, 0]), steps=100).model
    assert (fitted.emission.logits == -math.inf).any()
    assert fitted.free_parameters == hmm.free_parameters
    assert model("low rank").free_parameters == 2 + (3 + 2 * 2) + 9
    assert model("band").free_parameters == 2 + (1 + 2 + 1) + 9
    assert model("low rank and band").free_parameters == 2 + (3 + 4 + 3 + 2 * 2) + 9
    blocked = Blocked(normal(2, 5), torch.tensor([0, 1, 0, 1, 1]), 2)
    assert blocked.free_parameters == 2 * (1 + 2)
    assert Embedded(normal(3, 2), normal(5, 2)).free_parameters == 6 + 10 + 5


@pytest.mark.parametrize(
    ("priors", "message"),
    [
        (Priors(emission=PoissonPrior()), "priors.emission is a PoissonPrior; expected a GaussianPrior"),
        (
            Priors(emission=2.0),
            "priors.emission is a float; expected a GaussianPrior, as that is the prior of these",
        ),
        (Priors(transition=torch.ones(2)), "priors.transition has shape (2,); expected a number or (3, 3)"),
        (Priors(initial=torch.ones(2)), "priors.initial has shape (2,); expected a number or (3,)"),
    ],
)
def test_errors_about_priors(priors, message):
    hmm = model_of_vectors("diagonal")
    with pytest.raises(ValueError, match=re.escape(message)):
        hmm.fit(observations(hmm, 5), priors=priors)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": 0}, "steps is 0; expected a whole number of 1 or more"),
        ({"steps": 2.5}, "steps is 2.5; expected a whole number of 1 or more"),
        ({"restarts": -1}, "restarts is -1; expected a whole number of 0 or more"),
        ({"restarts": "1"}, "restarts is '1'; expected a whole number of 0 or more"),
        ({"tolerance": -1.0}, "tolerance is -1.0; expected a number of 0 or more, or -inf to take all steps"),
        ({"tolerance": math.nan}, "tolerance is nan; expected a number of 0 or more"),
        ({"tolerance": None}, "tolerance is None; expected a number of 0 or more"),
        ({"optimizer": "adam"}, "optimizer is 'adam'; expected a function from parameters to an optimiser"),
        ({"priors": "x"}, "priors is a str; expected Priors, such as Priors(transition=2.0)"),
        ({"priors": GaussianPrior()}, "priors is a GaussianPrior; expected Priors"),
    ],
)
def test_settings_out_of_range(settings, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        model("dense").fit(words(5), **settings)


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (lambda: Priors(initial="x"), "initial is 'x'; expected a number or a tensor"),
        (lambda: Priors(initial=None), "initial is None; expected a number or a tensor"),
        (lambda: Priors(initial=GaussianPrior()), "initial is GaussianPrior(mean=0.0, "),
        (lambda: Priors(transition=-1.0), "transition holds -1.0; expected finite numbers of 0 or more"),
        (lambda: Priors(emission=torch.tensor([[1.0, math.nan]])), "emission holds nan; expected finite"),
        (lambda: GaussianPrior(mean=math.inf), "mean holds inf; expected finite numbers"),
        (lambda: GaussianPrior(scatter=-100), "scatter holds -100; expected finite numbers of 0 or more"),
        (lambda: GaussianPrior(mean_weight=-0.5), "mean_weight holds -0.5; expected finite numbers of 0 or more"),
        (lambda: PoissonPrior(weight=[1.0]), "weight is [1.0]; expected a number or a tensor"),
    ],
)
def test_priors_out_of_range(prior, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        prior()


def test_other_errors():
    hmm = model("dense")
    for emission, kind in ((GaussianPrior(), "Categorical"), (PoissonPrior(), "Categorical")):
        with pytest.raises(ValueError, match=f"expected a concentration.*as emissions are {kind}"):
            hmm.fit(words(5), priors=Priors(emission=emission))
    with pytest.raises(ValueError, match="expected a PoissonPrior"):
        model_of_vectors("counts").fit(torch.tensor([1, 2]), priors=Priors(emission=GaussianPrior()))
    with pytest.raises(ValueError, match="x holds no observations"):
        model_of_vectors("full").fit(torch.zeros(2, 0, 2), restarts=1)


def test_weight_decay_keeps_what_is_forbidden():
    hmm = HMM(torch.tensor([0.0, -math.inf]), torch.tensor([[0.0, -math.inf], [0.0, 0.0]]), torch.zeros(2, 2))
    fit = hmm.fit(
        torch.tensor([[0, 1, 1, 0]]), steps=3, optimizer=partial(torch.optim.SGD, lr=0.1, weight_decay=0.1)
    )
    assert fit.model.initial.tolist()[1] == fit.model.transition.logits[0, 1] == -math.inf
    assert fit.log_probs.isfinite().all()


def test_a_fit_whose_parameters_become_nan_is_refused():
    hmm = HMM(torch.zeros(2), torch.zeros(2, 2), Gaussian(torch.tensor([[0.0], [1.0]]), torch.ones(2, 1)))
    x = torch.randn(3, 6, 1, generator=torch.Generator().manual_seed(0))
    with pytest.raises(ValueError, match="parameters became NaN or infinite during the fit; use smaller steps"):
        hmm.fit(x, steps=4, optimizer=partial(torch.optim.SGD, lr=math.inf))
    best = hmm.fit(x, steps=2, restarts=1, optimizer=_first_diverging())
    assert best.model.emission.means.isfinite().all()


def _first_diverging():
    """Return a function to an optimiser of infinite steps, then to one of small steps."""
    rates = iter([math.inf, 1e-3])
    return lambda parameters: torch.optim.SGD(parameters, lr=next(rates))
