"""Hidden Markov models beside the libraries that are made for them alone, in double precision."""

import numpy as np
import pytest
import torch
from tests.structures.hmm.enumerated_hmm import covariances_of, normal

from strukt import (
    HMM,
    Gaussian,
    GaussianMixture,
    GaussianPrior,
    Poisson,
    PoissonPrior,
    Priors,
    pad_concatenated,
)

STATES, WORDS = 5, 7
LENGTHS = torch.tensor([9, 4, 1, 12])


@pytest.fixture
def hmm():
    return HMM(normal(STATES), 2 * normal(STATES, STATES, seed=1), 2 * normal(STATES, WORDS, seed=2))


@pytest.fixture
def x():
    generator = torch.Generator().manual_seed(0)
    return torch.randint(WORDS, (4, 12), generator=generator)


def each(x):
    return [sentence[:length] for sentence, length in zip(x, LENGTHS.tolist(), strict=True)]


def tables(hmm):
    """Probabilities of first states, of transitions and of words."""
    return (
        logits.softmax(-1).numpy() for logits in (hmm.initial, hmm.transition.logits, hmm.emission.logits)
    )


def close(found, expected):
    return np.allclose(found.numpy(), expected, rtol=1e-10, atol=1e-10)


@pytest.fixture
def of_hmmlearn(hmm):
    module = pytest.importorskip("hmmlearn.hmm")
    model = module.CategoricalHMM(STATES, params="ste", init_params="", n_iter=6, tol=-np.inf)
    model.startprob_, model.transmat_, model.emissionprob_ = tables(hmm)
    model.n_features = WORDS
    return model


FORMS = {"diag": "diagonal", "spherical": "spherical", "full": "full", "tied": "tied"}
"""What hmmlearn calls the forms of covariances."""


def rows_of(form: str, seed: int = 5):
    """Concatenated sequences, as hmmlearn takes them, and their lengths."""
    x = 3 * normal(sum(LENGTHS), 2, seed=seed)
    return (x.abs().round() if form == "counts" else x).numpy(), LENGTHS.tolist()


def of_hmmlearn_for(model, kind, **options):
    """A model of hmmlearn with the first states and transitions of ours, to be fitted for one step."""
    module = pytest.importorskip("hmmlearn.hmm", reason="hmmlearn is not installed")
    theirs = getattr(module, kind)(STATES, init_params="", n_iter=1, **options)
    theirs.startprob_ = model.initial.softmax(0).numpy()
    theirs.transmat_ = model.transition.dense().numpy()
    return theirs


def of_gaussian(form, **options):
    """Ours and theirs, with the same parameters."""
    ours = HMM(normal(STATES), normal(STATES, STATES, seed=1), gaussian(form))
    theirs = of_hmmlearn_for(ours, "GaussianHMM", covariance_type=form, **options)
    theirs.means_ = ours.emission.means.numpy()
    covariances = ours.emission.covariances.numpy()
    theirs.covars_ = (
        covariances[:, 0] if form == "spherical" else covariances[0] if form == "tied" else covariances
    )
    return ours, theirs


def gaussian(form):
    return Gaussian(3 * normal(STATES, 2, seed=2), covariances_of(FORMS[form], STATES))


def assert_chains_agree(ours, theirs):
    assert close(ours.initial.softmax(0), theirs.startprob_)
    assert close(ours.transition.dense(), theirs.transmat_)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("with_priors", [False, True])
def test_a_step_of_gaussians_is_that_of_hmmlearn(form, with_priors):
    options = {"covars_prior": 0.0, "covars_weight": 0.0}
    if with_priors:
        options = {
            "covars_prior": 0.4 * np.eye(2) if form in ("full", "tied") else 0.4,
            "covars_weight": 4.5,
            "means_prior": 0.3,
            "means_weight": 0.8,
            "startprob_prior": 1.7,
            "transmat_prior": 2.2,
        }
    ours, theirs = of_gaussian(form, **options)
    # their weight counts from 1 on, or for matrices from the number of dimensions on
    weight = 2.5 if form in ("full", "tied") else 3.5
    priors = Priors(1.7, 2.2, GaussianPrior(0.3, 0.8, 0.4, weight)) if with_priors else Priors()
    rows, lengths = rows_of(form)
    after = ours.fit(*pad_concatenated(rows, lengths), steps=1, priors=priors).model
    theirs.fit(rows, lengths)
    assert_chains_agree(after, theirs)
    assert close(after.emission.means, theirs.means_)
    if form == "spherical":  # of which `covars_` has too many after a fit
        assert close(after.emission.covariances.expand(STATES, 2), theirs._covars_)
    else:
        whole = after.emission.covariances.expand(STATES, *after.emission.covariances.shape[1:])
        assert close(whole if whole.dim() == 3 else whole.diag_embed(), theirs.covars_)


@pytest.mark.parametrize("with_priors", [False, True])
def test_counts_are_those_of_hmmlearn(with_priors):
    """Its rates under a prior weigh all observations as if they were of each state, which ours can say, too."""
    options = {"lambdas_prior": 2.0, "lambdas_weight": 3.0} if with_priors else {}
    ours = HMM(normal(STATES), normal(STATES, STATES, seed=1), Poisson(normal(STATES, 2, seed=2).exp()))
    theirs = of_hmmlearn_for(ours, "PoissonHMM", **options)
    theirs.lambdas_ = ours.emission.rates.numpy()
    rows, lengths = rows_of("counts")
    x, padded = pad_concatenated(rows, lengths)
    theirs.n_features = 2
    assert close(ours.log_prob(x, padded).sum(), theirs.score(rows.astype(int), lengths))
    share = torch.cat(each(ours.smooth(x, padded))).mean(0).unsqueeze(1)
    priors = Priors(emission=PoissonPrior(2.0 * share, 3.0 * share)) if with_priors else Priors()
    after = ours.fit(x, padded, steps=1, priors=priors).model
    theirs.fit(rows.astype(int), lengths)
    assert_chains_agree(after, theirs)
    assert close(after.emission.rates, theirs.lambdas_)


def test_a_step_of_words_under_priors_is_that_of_hmmlearn(hmm, x, of_hmmlearn):
    of_hmmlearn.n_iter, of_hmmlearn.startprob_prior, of_hmmlearn.transmat_prior = 1, 1.3, 2.0
    of_hmmlearn.emissionprob_prior = 1.4
    after = hmm.fit(x, LENGTHS, steps=1, priors=Priors(1.3, 2.0, 1.4)).model
    of_hmmlearn.fit(torch.cat(each(x))[:, None].numpy(), LENGTHS.tolist())
    assert_chains_agree(after, of_hmmlearn)
    assert close(after.emission.table().mT.exp(), of_hmmlearn.emissionprob_)


@pytest.mark.parametrize("form", ["diag", "full"])
def test_mixtures_have_the_probabilities_and_the_next_means_of_hmmlearn(form):
    """Its covariances are those around the means before the step, which is no step of EM, and are left out."""
    emission = GaussianMixture(
        normal(STATES, 3, seed=3), 3 * normal(STATES, 3, 2, seed=2), covariances_of(FORMS[form], STATES, 3)
    )
    ours = HMM(normal(STATES), normal(STATES, STATES, seed=1), emission)
    theirs = of_hmmlearn_for(ours, "GMMHMM", n_mix=3, covariance_type=form)
    theirs.weights_ = emission.logits.softmax(1).numpy()
    theirs.means_, theirs.covars_ = emission.means.numpy(), emission.covariances.numpy()
    theirs.n_features = 2
    rows, lengths = rows_of(form)
    x, padded = pad_concatenated(rows, lengths)
    assert close(ours.log_prob(x, padded).sum(), theirs.score(rows, lengths))
    after = ours.fit(x, padded, steps=1).model
    theirs.fit(rows, lengths)
    assert_chains_agree(after, theirs)
    assert close(after.emission.logits.softmax(1), theirs.weights_)
    assert close(after.emission.means, theirs.means_)
