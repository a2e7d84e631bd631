"""Hidden Markov models over vectors and counts, beside enumeration of all state sequences."""

import math
import re

import pytest
import torch
from scipy.stats import chisquare, kstest
from tests.structures.hmm import enumerated_hmm as enumerated
from tests.structures.hmm.enumerated_hmm import KINDS, VECTORS, model_of_vectors, normal, observations
from torch.autograd import gradcheck

from strukt import HMM, Gaussian, GaussianMixture, InfeasibleError, Poisson
from strukt.structures.hmm.emissions import normals

LENGTHS = torch.tensor([4, 0, 1, 3])


@pytest.fixture(params=VECTORS)
def hmm(request):
    return model_of_vectors(request.param)


@pytest.fixture
def x(hmm):
    """Four sequences with numbers that are none in the padding."""
    x = observations(hmm, 4, 4)
    padding = (torch.arange(4) >= LENGTHS[:, None]).reshape(4, 4, *(1 for _ in hmm.emission.event_shape))
    return x.masked_fill(padding, math.nan if x.is_floating_point() else -1)


def each(x):
    return [sequence[:length] for sequence, length in zip(x, LENGTHS.tolist(), strict=True)]


def test_probabilities_and_states_agree_with_enumeration(hmm, x):
    log_prob, smooth, filtered = (ask(x, LENGTHS) for ask in (hmm.log_prob, hmm.smooth, hmm.filter))
    path, score = hmm.viterbi(x, LENGTHS)
    chain = hmm.posterior(x, LENGTHS)
    for item, sequence in enumerate(each(x)):
        n = len(sequence)
        if not n:
            assert log_prob[item] == score[item] == 0
            continue
        sequences, scores = enumerated.joint(hmm, sequence)
        assert torch.allclose(log_prob[item], scores.logsumexp(0), rtol=1e-10)
        assert torch.allclose(smooth[item, :n], enumerated.posterior(hmm, sequence), atol=1e-10)
        assert (smooth[item, n:] == 0).all()
        assert torch.allclose(score[item], scores.max(), rtol=1e-10)
        assert torch.equal(path[item, :n], sequences[scores.argmax()])
        assert torch.allclose(filtered[item, n - 1], smooth[item, n - 1], atol=1e-10)
    assert torch.allclose(chain.log_partition, log_prob)
    assert torch.allclose(chain.marginals, smooth, atol=1e-10)


@pytest.mark.parametrize("transition", KINDS)
def test_any_transition(transition):
    hmm = model_of_vectors("full", transition=transition, checkpoint=transition == "low rank")
    x = observations(hmm, 4)
    assert torch.allclose(hmm.log_prob(x), enumerated.log_prob(hmm, x), rtol=1e-10)
    assert torch.allclose(hmm.smooth(x), enumerated.posterior(hmm, x), atol=1e-10)
    after = hmm.fit(x.expand(2, 4, 2), steps=3)
    assert (after.log_probs.diff() > 0).all()


@pytest.mark.parametrize("kind", VECTORS)
def test_derivatives(kind):
    hmm = model_of_vectors(kind)
    x = observations(hmm, 2, 3)
    leaves = [numbers.requires_grad_() for numbers in hmm.unconstrained()]

    def answer(*leaves):
        return hmm.from_unconstrained(leaves).log_prob(x, torch.tensor([3, 2]))

    assert torch.allclose(answer(*leaves), hmm.log_prob(x, torch.tensor([3, 2])), rtol=1e-12)
    assert gradcheck(answer, leaves)


def test_derivatives_in_the_parameters_and_in_the_observations():
    means, factors, x = (normal(*shape, seed=7).requires_grad_() for shape in ((3, 2), (3, 2, 2), (2, 4, 2)))

    def answer(question, means, factors, x):
        gaussian = Gaussian(means, factors @ factors.mT + torch.eye(2, dtype=torch.float64))
        hmm = HMM(normal(3), normal(3, 3), gaussian)
        return getattr(hmm, question)(x)

    for question in ("log_prob", "filter", "smooth"):
        assert gradcheck(
            lambda *leaves, question=question: answer(question, *leaves), (means, factors, x), fast_mode=True
        )


def test_a_batch_gives_what_its_items_give_in_single_precision_too(hmm, x):
    alone = torch.stack([hmm.log_prob(sequence) for sequence in each(x)])
    assert torch.allclose(hmm.log_prob(x, LENGTHS), alone, rtol=1e-12)
    nested = hmm.log_prob(x.unflatten(0, (2, 2)), LENGTHS.view(2, 2))
    assert torch.equal(nested.flatten(), hmm.log_prob(x, LENGTHS))
    parts = (hmm.initial, *hmm.transition.parameters)
    emission = type(hmm.emission)(*(parameter.float() for parameter in hmm.emission.parameters))
    single = HMM(*(part.float() for part in parts), emission)
    assert torch.allclose(single.log_prob(x, LENGTHS).double(), alone, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_observations_that_no_state_expects(dtype):
    """One far from all states, where all but one underflow, and the transitions forbid this one."""
    gaussian = Gaussian(torch.tensor([[0.0], [1.0]], dtype=dtype), torch.ones(2, 1, dtype=dtype))
    stay = torch.tensor([[0.0, -math.inf], [-math.inf, 0.0]], dtype=dtype)
    hmm = HMM(torch.tensor([0.0, -math.inf], dtype=dtype), stay, gaussian)
    x = torch.tensor([[0.0], [2000.0], [0.0]], dtype=dtype)
    alone = enumerated.normal_scores(x.double(), torch.zeros(1, 1).double(), torch.ones(1, 1).double()).sum()
    assert torch.allclose(hmm.log_prob(x).double(), alone, rtol=1e-6)
    assert hmm.smooth(x)[:, 0].eq(1).all()


def test_samples_come_from_their_states(hmm):
    torch.manual_seed(0)
    x, states = hmm.sample_with_states((3000,), 2)
    assert x.shape == (3000, 2, *hmm.emission.event_shape)
    assert states.shape == (3000, 2)
    chances = hmm.initial.softmax(0).unsqueeze(1) * hmm.transition.logits.softmax(1)
    counts = torch.bincount(3 * states[:, 0] + states[:, 1], minlength=9)
    assert chisquare(counts.numpy(), 3000 * chances.flatten().numpy()).pvalue > 1e-4
    drawn = hmm.emission.drawn(torch.full((3000,), 1)).reshape(3000, -1).double()
    whole = hmm.emission.mixture(torch.eye(3, dtype=torch.float64)[1])
    expected = whole.sample((3000,)).reshape(3000, -1)
    scale = expected.std(0)
    assert torch.allclose(drawn.mean(0) / scale, expected.mean(0) / scale, atol=0.12)
    assert torch.allclose(drawn.std(0) / scale, torch.ones_like(scale), atol=0.12)
    assert hmm.sample((2, 0), 3).shape == (2, 0, 3, *hmm.emission.event_shape)
    assert hmm.sample((2,), 0).shape == (2, 0, *hmm.emission.event_shape)


def test_samples_of_a_normal_distribution_are_normal():
    torch.manual_seed(0)
    x = Gaussian(torch.tensor([[3.0]]), torch.tensor([[4.0]])).drawn(torch.zeros(2000, dtype=torch.int64))
    assert kstest(((x - 3) / 2).flatten().numpy(), "norm").pvalue > 1e-3


def test_the_next_observation(hmm, x):
    """Its density is the ratio of those of the longer and the shorter sequence."""
    following = hmm.predict_next(x, LENGTHS)
    new = observations(hmm, 4, seed=9)
    density = following.log_prob(new.double())
    assert following.sample().shape == (4, *hmm.emission.event_shape)
    for item, sequence in enumerate(each(x)):
        longer = torch.cat([sequence, new[item : item + 1]])
        expected = hmm.log_prob(longer) - hmm.log_prob(sequence)
        assert torch.allclose(density[item], expected, rtol=1e-9)


def test_the_next_word_and_the_impossible():
    hmm = enumerated.model("low rank")
    x = enumerated.words(2, 5)
    assert torch.allclose(hmm.predict_next(x).logits, hmm.predict(torch.cat([x, x[:, :1]], 1))[:, -1])
    never = HMM(torch.zeros(1), torch.zeros(1, 1), torch.tensor([[0.0, -math.inf]]))
    with pytest.raises(InfeasibleError, match="batch item 1"):
        never.predict_next(torch.tensor([[0], [1]]))


def test_streams_are_whole_sequences(hmm):
    x = observations(hmm, 2, 6)
    first, state = hmm.stream(x[:, :4])
    second, _ = hmm.stream(x[:, 4:], state)
    assert torch.allclose(first + second, hmm.log_prob(x), rtol=1e-12)


def test_some_of_the_states(hmm):
    part = hmm.select(torch.tensor([0, 2]))
    x = observations(hmm, 3)
    assert torch.allclose(part.log_prob(x), enumerated.log_prob(part, x), rtol=1e-10)
    assert torch.allclose(enumerated.scores_of(part, x), enumerated.scores_of(hmm, x)[:, [0, 2]], rtol=1e-10)


def test_posterior_samples_and_other_forms(hmm, x):
    drawn = hmm.sample_posterior(x, LENGTHS, (7,))
    assert drawn.shape == (7, 4, 4)
    assert ((drawn == -1) == (torch.arange(4) >= LENGTHS[:, None])).all()
    one_behind_the_other = torch.cat(each(x))
    with pytest.raises(ValueError, match=r"x, lengths = strukt.pad_concatenated\(x, lengths\)"):
        hmm.log_prob(one_behind_the_other, LENGTHS.tolist())


def test_questions_about_words_say_so(hmm, x):
    with pytest.raises(NotImplementedError, match=r"predict returns words.*predict_next\(x\)"):
        hmm.predict(x, LENGTHS)
    with pytest.raises(NotImplementedError, match="infill returns words"):
        hmm.infill(x, torch.zeros(4, 4, dtype=torch.bool), LENGTHS)


@pytest.mark.parametrize("rate", [1e5, 1e7])
def test_large_counts_in_single_precision(rate):
    """The log-density of a large count is a small difference of large numbers."""
    rates = torch.tensor([[rate, 2.0], [1.001 * rate, 3.0]])
    x = torch.tensor([[int(rate), 2], [int(1.0005 * rate), 1], [int(0.999 * rate), 4]])
    single = HMM(torch.zeros(2), torch.eye(2), Poisson(rates))
    double = HMM(torch.zeros(2).double(), torch.eye(2).double(), Poisson(rates.double()))
    assert single.log_prob(x).dtype == torch.float32
    assert single.log_prob(x).item() == pytest.approx(double.log_prob(x).item(), rel=1e-6)
    assert torch.allclose(single.smooth(x).double(), double.smooth(x), atol=1e-5)


def test_densities_of_pieces(monkeypatch):
    hmm = model_of_vectors("full", z=5)
    x = observations(hmm, 9)
    whole = hmm.emission.log_densities(x)
    sums = hmm.emission.statistics(x, whole.softmax(1))
    monkeypatch.setattr(normals, "PIECE", 40)
    assert torch.allclose(hmm.emission.log_densities(x), whole, rtol=1e-13)
    assert torch.allclose(hmm.emission.statistics(x, whole.softmax(1)), sums, rtol=1e-13)


GAUSSIAN = model_of_vectors("diagonal")
COUNTS = model_of_vectors("counts")


@pytest.mark.parametrize(
    ("hmm", "x", "message"),
    [
        (
            GAUSSIAN,
            torch.tensor([[0.0, math.nan]]),
            "x holds nan at position (0, 1); expected finite numbers: fill in",
        ),
        (
            GAUSSIAN,
            torch.zeros(2, 3),
            "x has shape (2, 3); expected (*, n, 2), as Gaussian((3, 2), (3, 2)) emits",
        ),
        (GAUSSIAN, torch.tensor([[0, 1]]), "x has dtype torch.int64; expected a floating-point tensor"),
        (GAUSSIAN, torch.zeros(2), "x has shape (2,); expected (*, n, 2)"),
        (
            COUNTS,
            torch.tensor([[0, 1], [-1, 0]]),
            "x holds -1 at batch item 1, position 0; expected non-negative integers",
        ),
        (COUNTS, torch.tensor([0.0, 1.5]), "x holds 1.5 at position 1; expected non-negative integers"),
        (COUNTS, torch.tensor([True]), "x has dtype torch.bool"),
        (COUNTS, [1, 2], "x is a list; expected a floating-point tensor of shape (*, n)"),
    ],
)
def test_errors_about_observations(hmm, x, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        hmm.log_prob(x)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Gaussian(torch.zeros(2), torch.ones(2)), "means has shape (2,); expected (z, d)"),
        (
            lambda: Gaussian(torch.zeros(2, 3), torch.ones(3, 3)),
            "expected (z, d), and (z, d) for variances or (z, d, d)",
        ),
        (
            lambda: Gaussian(torch.zeros(2, 3), torch.ones(2, 3, 2)),
            "the shapes do not fit together: means (2, 3)",
        ),
        (
            lambda: Gaussian(torch.zeros(2, 3), torch.zeros(2, 3)),
            "covariances holds the variance 0.0 at (0, 0)",
        ),
        (
            lambda: Gaussian(torch.full((2, 3), math.nan), torch.ones(2, 3)),
            "means holds nan; expected finite",
        ),
        (
            lambda: Gaussian(torch.zeros(2, 2), -torch.eye(2).repeat(2, 1, 1)),
            "at (0,) is not symmetric and positive",
        ),
        (lambda: Gaussian(torch.zeros(2, 2), torch.tensor([[[1.0, 0.5], [0.0, 1.0]]])), "is not symmetric"),
        (lambda: Poisson(torch.zeros(2)), "rates holds 0.0 at (0,); expected finite numbers above 0"),
        (lambda: Poisson(torch.ones(2, 3, 1)), "rates has shape (2, 3, 1); expected (z,) or (z, d)"),
        (
            lambda: GaussianMixture(torch.zeros(2, 3), torch.zeros(2, 2, 1), torch.ones(2, 2, 1)),
            "expected (z, m) and (z, m, d)",
        ),
        (
            lambda: GaussianMixture(torch.full((2, 1), -math.inf), torch.zeros(2, 1, 1), torch.ones(2, 1, 1)),
            "logits are -inf for all components of state 0",
        ),
    ],
)
def test_errors_about_parameters(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        HMM(torch.zeros(2), torch.zeros(2, 2), make())
