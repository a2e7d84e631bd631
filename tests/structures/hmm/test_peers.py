"""Hidden Markov models beside the libraries that are made for them alone, in double precision."""

import numpy as np
import pytest
import torch
from tests.structures.hmm.enumerated_hmm import normal

from strukt import HMM

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


def test_probabilities_and_paths_are_those_of_hmmlearn(hmm, x, of_hmmlearn):
    path, score = hmm.viterbi(x, LENGTHS)
    for item, sentence in enumerate(each(x)):
        column = sentence[:, None].numpy()
        assert close(hmm.log_prob(sentence), of_hmmlearn.score(column))
        assert close(hmm.smooth(x, LENGTHS)[item, : len(sentence)], of_hmmlearn.predict_proba(column))
        best, states = of_hmmlearn.decode(column)
        assert close(score[item], best)
        assert path[item, : len(sentence)].tolist() == states.tolist()


def test_expectation_maximisation_is_that_of_hmmlearn(hmm, x, of_hmmlearn):
    fitted, reached = hmm.fit_em(x, LENGTHS, steps=6, tolerance=-np.inf)
    of_hmmlearn.fit(torch.cat(each(x))[:, None].numpy(), LENGTHS.tolist())
    for found, expected in zip(
        tables(fitted),
        (of_hmmlearn.startprob_, of_hmmlearn.transmat_, of_hmmlearn.emissionprob_),
        strict=True,
    ):
        assert np.allclose(found, expected, rtol=1e-10, atol=1e-10)
    assert close(reached, list(of_hmmlearn.monitor_.history))


def test_filtering_and_smoothing_are_those_of_dynamax(hmm, x):
    jax = pytest.importorskip("jax")
    inference = pytest.importorskip("dynamax.hidden_markov_model")
    with jax.enable_x64(True):
        first, transition, emission = (jax.numpy.asarray(table) for table in tables(hmm))
        for item, sentence in enumerate(each(x)):
            rows = jax.numpy.log(emission.T[jax.numpy.asarray(sentence.numpy())])
            theirs = inference.hmm_smoother(first, transition, rows)
            assert close(hmm.log_prob(sentence), np.asarray(theirs.marginal_loglik))
            ours = hmm.filter(x, LENGTHS)[item, : len(sentence)]
            assert close(ours, np.asarray(theirs.filtered_probs))
            ours = hmm.smooth(x, LENGTHS)[item, : len(sentence)]
            assert close(ours, np.asarray(theirs.smoothed_probs))
            path = inference.hmm_posterior_mode(first, transition, rows)
            assert hmm.viterbi(sentence)[0].tolist() == np.asarray(path).tolist()
