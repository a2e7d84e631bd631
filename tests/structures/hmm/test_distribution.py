"""Hidden Markov models beside enumeration of all state sequences."""

import itertools
import math
import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare
from tests.structures.hmm import enumerated_hmm as enumerated
from tests.structures.hmm.enumerated_hmm import KINDS, matrix_of, model, normal, words
from torch.autograd import gradcheck, gradgradcheck

from strukt import HMM, Banded, Dense, InfeasibleError, LowRank

LENGTHS = torch.tensor([4, 0, 1, 3])


@pytest.fixture(params=KINDS)
def hmm(request):
    return model(request.param)


@pytest.fixture
def x():
    """Four sentences with words that are none in the padding."""
    return torch.where(torch.arange(4) < LENGTHS[:, None], words(4, 4), 99)


def each(x):
    return [sentence[:length] for sentence, length in zip(x, LENGTHS.tolist(), strict=True)]


def padded(tables, value=0.0):
    """Tables ``(n, ...)`` of sentences as one of four places."""
    found = torch.full((len(tables), 4, *tables[0].shape[1:]), value, dtype=tables[0].dtype)
    for item, table in enumerate(tables):
        found[item, : len(table)] = table
    return found


def test_log_prob_agrees_with_enumeration(hmm, x):
    expected = torch.stack([enumerated.log_prob(hmm, sentence) for sentence in each(x)])
    assert torch.allclose(hmm.log_prob(x, LENGTHS), expected, rtol=1e-10)


@given(
    kind=st.sampled_from(KINDS),
    z=st.integers(1, 4),
    length=st.integers(0, 4),
    forbidden=st.floats(0.0, 0.8),
    seed=st.integers(0, 20),
)
def test_forbidden_words_and_states(kind, z, length, forbidden, seed):
    generator = torch.Generator().manual_seed(seed)

    def with_zeros(value):
        return value.masked_fill(torch.rand(value.shape, generator=generator) < forbidden, -math.inf)

    parameters = enumerated.transition_parameters(kind, z, seed=seed)
    if kind == "dense":
        parameters = [with_zeros(parameters[0])]
    initial, emission = with_zeros(normal(z, seed=seed)), with_zeros(normal(z, 3, seed=seed + 1))
    hmm = HMM(initial, enumerated.transition_of(kind, parameters), emission)
    x = words(length, v=3, seed=seed)
    _, scores = enumerated.joint(hmm, x)
    true = torch.where(scores.isnan(), -math.inf, scores).logsumexp(0)
    assert torch.allclose(hmm.log_prob(x), true, rtol=1e-9)
    smooth = hmm.smooth(x)
    assert torch.allclose(smooth.sum(-1), torch.full((length,), float(true > -math.inf), dtype=torch.float64))
    if true > -math.inf:
        assert (hmm.sample_posterior(x) >= 0).all()
        assert torch.allclose(hmm.viterbi(x)[1], scores.nan_to_num(-math.inf).max(), rtol=1e-9)
    elif length:
        for choose in (hmm.viterbi, hmm.sample_posterior):
            with pytest.raises(InfeasibleError):
                choose(x)


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives(kind, x):
    parameters = [normal(3), normal(3, 4, seed=1), *enumerated.transition_parameters(kind)]
    leaves = [parameter.requires_grad_() for parameter in parameters]

    def build(initial, emission, *transition):
        return HMM(initial, enumerated.transition_of(kind, list(transition)), emission)

    for question in ("log_prob", "predict", "smooth", "filter"):

        def answer(*leaves, question=question):
            found = getattr(build(*leaves), question)(x, LENGTHS)
            return torch.where(found == -math.inf, 0.0, found)

        assert gradcheck(answer, leaves, fast_mode=question != "log_prob")
    assert gradgradcheck(lambda *leaves: build(*leaves).log_prob(x, LENGTHS), leaves, fast_mode=True)


def test_filter_and_smooth_agree_with_enumeration(hmm, x):
    smooth = [enumerated.posterior(hmm, sentence) for sentence in each(x)]
    assert torch.allclose(hmm.smooth(x, LENGTHS), padded(smooth), atol=1e-10)
    up_to = [
        torch.stack([enumerated.posterior(hmm, sentence[: t + 1])[t] for t in range(len(sentence))])
        if len(sentence)
        else normal(0, 3)
        for sentence in each(x)
    ]
    assert torch.allclose(hmm.filter(x, LENGTHS), padded(up_to), atol=1e-10)


def test_predictions_are_ratios_of_probabilities(hmm, x):
    found = hmm.predict(x, LENGTHS)
    assert found.shape == (4, 4, 4)
    for item, sentence in enumerate(each(x)):
        for t in range(len(sentence)):
            longer = [torch.cat([sentence[:t], torch.tensor([word])]) for word in range(4)]
            joint = torch.stack([enumerated.log_prob(hmm, some) for some in longer])
            expected = joint - enumerated.log_prob(hmm, sentence[:t])
            assert torch.allclose(found[item, t], expected, rtol=1e-10)
        assert (found[item, len(sentence) :] == -math.inf).all()


def test_posterior_is_a_chain_with_the_same_answers(hmm, x):
    chain = hmm.posterior(x, LENGTHS)
    assert torch.allclose(chain.log_partition, hmm.log_prob(x, LENGTHS))
    assert torch.allclose(chain.marginals, hmm.smooth(x, LENGTHS), atol=1e-10)
    path, score = hmm.viterbi(x, LENGTHS)
    assert torch.equal(path, chain.mode)
    assert torch.allclose(score, chain.max_score)
    for item, sentence in enumerate(each(x)):
        scores = enumerated.joint(hmm, sentence)[1]
        assert torch.allclose(score[item], scores.max())
        entropy = torch.special.entr(scores.softmax(0)).sum()
        assert torch.allclose(chain.entropy()[item], entropy, atol=1e-10)


def test_best_paths_in_blocks_of_columns(hmm, x, monkeypatch):
    from strukt.structures.hmm import viterbi

    path, score = hmm.viterbi(x, LENGTHS)
    for block, stored in ((1, viterbi.STORED), (8, viterbi.STORED), (1, 0), (8, 0)):
        monkeypatch.setattr(viterbi, "BLOCK", block)
        monkeypatch.setattr(viterbi, "STORED", stored)
        again = hmm.viterbi(x, LENGTHS)
        assert torch.equal(again[0], path)
        assert torch.allclose(again[1], score)


def test_samples_of_states_have_their_frequencies(hmm):
    torch.manual_seed(0)
    x = words(3)
    sequences, scores = enumerated.joint(hmm, x)
    drawn = hmm.sample_posterior(x, sample_shape=(4000,))
    counts = (drawn[:, None] == sequences).all(-1).sum(0)
    expected = 4000 * scores.softmax(0)
    likely = expected > 5
    assert counts.sum() == 4000
    assert chisquare(counts[likely].numpy(), expected[likely].numpy(), sum_check=False).pvalue > 1e-4


def test_samples_of_states_in_batches(hmm, x):
    drawn = hmm.sample_posterior(x, LENGTHS, (5, 2))
    assert drawn.shape == (5, 2, 4, 4)
    assert ((drawn == -1) == (torch.arange(4) >= LENGTHS[:, None])).all()
    assert hmm.posterior(x, LENGTHS).log_prob(drawn).isfinite().all()


def test_samples_of_sentences_have_their_frequencies(hmm):
    torch.manual_seed(0)
    every = torch.cartesian_prod(*[torch.arange(4)] * 3)
    drawn = hmm.sample((4000,), 3)
    counts = (drawn[:, None] == every).all(-1).sum(0)
    expected = 4000 * hmm.log_prob(every).exp()
    likely = expected > 5
    assert counts.sum() == 4000
    assert chisquare(counts[likely].numpy(), expected[likely].numpy(), sum_check=False).pvalue > 1e-4
    assert hmm.sample((2, 3), 0).shape == (2, 3, 0)
    assert hmm.sample(length=2).shape == (2,)
    for length in (-1, 1.5):
        with pytest.raises(ValueError, match=f"^length is {length}; expected a whole number of 0 or more"):
            hmm.sample(length=length)


def test_infilling_agrees_with_enumeration(hmm):
    torch.manual_seed(0)
    x, missing = words(4), torch.tensor([False, True, True, False])
    completions = x.repeat(16, 1)
    completions[:, 1:3] = torch.tensor(list(itertools.product(range(4), repeat=2)))
    joint = torch.stack([enumerated.log_prob(hmm, some) for some in completions]).softmax(0)
    x = x.masked_fill(missing, -5)
    found = hmm.infill(x, missing)
    for t in (1, 2):
        expected = torch.stack([joint[completions[:, t] == word].sum() for word in range(4)])
        assert torch.allclose(found.log_probs[t].exp(), expected, rtol=1e-10)
        assert found.best[t] == expected.argmax()
    for t in (0, 3):
        assert found.log_probs[t].exp().tolist() == [float(word == x[t]) for word in range(4)]
        assert found.best[t] == found.sample[t] == x[t]
    copies = hmm.infill(x.expand(4000, -1), missing.expand(4000, -1)).sample
    counts = (copies[:, None] == completions).all(-1).sum(0)
    likely = 4000 * joint > 5
    assert counts.sum() == 4000
    assert chisquare(counts[likely].numpy(), (4000 * joint)[likely].numpy(), sum_check=False).pvalue > 1e-4


def test_infilling_everything_and_nothing(hmm, x):
    nothing = hmm.infill(x, torch.zeros(4, 4, dtype=torch.bool), LENGTHS)
    assert torch.equal(nothing.best, torch.where(torch.arange(4) < LENGTHS[:, None], x, -1))
    assert torch.equal(nothing.sample, nothing.best)
    everything = hmm.infill(x, torch.ones(4, 4, dtype=torch.bool), LENGTHS)
    assert torch.allclose(everything.log_probs[0, 0], hmm.predict(x[0])[0])
    assert (everything.log_probs[1] == -math.inf).all()


def test_infilling_the_impossible_is_refused():
    emission = torch.tensor([[0.0, -math.inf], [0.0, -math.inf]])
    hmm = HMM(torch.zeros(2), torch.zeros(2, 2), emission)
    assert hmm.infill(torch.tensor([1, 0]), torch.tensor([True, False])).best.tolist() == [0, 0]
    with pytest.raises(InfeasibleError, match="batch item 0"):
        hmm.infill(torch.tensor([1, 0]), torch.tensor([False, True]))


def test_streams_are_whole_texts(hmm):
    x = words(2, 9)
    state, total = None, torch.zeros(2, dtype=torch.float64)
    for part in x.split(4, 1):
        found, state = hmm.stream(part, state)
        total = total + found
    assert torch.allclose(total, hmm.log_prob(x), rtol=1e-12)
    ahead = hmm.predict(torch.cat([x, x[:, :1]], 1))[:, -1].exp()
    assert torch.allclose(state @ hmm.emission.logits.softmax(1), ahead)


def test_streams_pass_gradients_on_unless_detached():
    emission = normal(3, 4, seed=1).requires_grad_()
    x = words(1, 6)

    def gradient(detached):
        hmm = HMM(normal(3), normal(3, 3, seed=2), emission)
        first, state = hmm.stream(x[:, :3])
        second, _ = hmm.stream(x[:, 3:], state.detach() if detached else state)
        return torch.autograd.grad((first + second).sum(), emission)[0]

    whole = torch.autograd.grad(HMM(normal(3), normal(3, 3, seed=2), emission).log_prob(x).sum(), emission)[0]
    assert torch.allclose(gradient(False), whole)
    assert not torch.allclose(gradient(True), whole)


OPERATORS = {LowRank: [(8, 2), (8, 2)], Dense: [(8, 8)], Banded: [(8, 3)]}


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.__name__)
def test_gradients_are_finite_where_probabilities_are_next_to_zero(operator):
    """The derivative in a probability of 1e-42 overflows single precision; that in its logit does not."""
    for seed in range(12):
        shapes = [(8,), (8, 5), *OPERATORS[operator]]
        scores = [(400 * normal(*shape, seed=seed)).float().requires_grad_() for shape in shapes]
        initial, emission, *steps = scores
        words = torch.randint(5, (3, 9), generator=torch.Generator().manual_seed(seed))
        value = HMM(initial, operator(*steps), emission).log_prob(words)
        for gradient in torch.autograd.grad(value.sum(), scores):
            assert gradient.isfinite().all()


def test_counts_agree_with_enumeration():
    hmm, x = model("dense"), words(3)
    sequences, scores = enumerated.joint(hmm, x)
    weights = scores.softmax(0)
    pairs = torch.zeros(3, 3, dtype=torch.float64)
    for sequence, weight in zip(sequences, weights, strict=True):
        for t in range(2):
            pairs[sequence[t], sequence[t + 1]] += weight
    counts = hmm.expected_counts(x)
    assert torch.allclose(counts.matrices[0], pairs)
    assert torch.allclose(counts.initial, enumerated.posterior(hmm, x)[0])
    assert counts.impossible == 0


def test_impossible_sentences_count_nowhere():
    emission = torch.tensor([[0.0, 0.0, -math.inf], [0.0, 1.0, -math.inf]])
    hmm = HMM(torch.zeros(2), torch.zeros(2, 2), emission)
    counts = hmm.expected_counts(torch.tensor([[0, 1], [0, 2]]))
    assert counts.impossible == 1
    assert torch.allclose(counts.emission.sum(), torch.tensor(2.0))


def test_states_without_counts_stay_as_they_are():
    transition = torch.tensor([[0.0, 1.0, -math.inf], [1.0, 0.0, -math.inf], [1.0, 2.0, 3.0]])
    hmm = HMM(torch.tensor([0.0, 0.0, -math.inf]), transition, torch.zeros(3, 2))
    after = hmm.maximised(hmm.expected_counts(torch.tensor([0, 1, 1])))
    assert torch.equal(matrix_of(after)[2], matrix_of(hmm)[2])
    assert after.log_prob(torch.tensor([0, 1, 1])).isfinite()


def test_the_model_on_some_of_the_states():
    hmm, states = model("low rank", z=5), torch.tensor([0, 2, 3])
    part = hmm.select(states)
    weights = matrix_of(hmm)[states][:, states]
    assert torch.allclose(part.transition.dense(), weights / weights.sum(1, keepdim=True))
    assert torch.allclose(part.log_prob(words(4)), enumerated.log_prob(part, words(4)))


@pytest.mark.parametrize("states", [[0, 2], torch.tensor([0.0, 2.0]), torch.tensor([True, False, True])])
def test_selected_states_are_indices(states):
    with pytest.raises(ValueError, match=r"states is of type .*; expected a LongTensor of shape \(k,\)"):
        model("dense").select(states)


@pytest.mark.parametrize("states", [torch.tensor(1), torch.tensor([[0], [1]]), torch.arange(0)])
def test_selected_states_are_a_vector(states):
    with pytest.raises(ValueError, match=r"states has shape \(.*\); expected \(k,\), at least one state"):
        model("dense").select(states)


@pytest.mark.parametrize("storage", ["bfloat16", torch.int8])
def test_probabilities_are_stored_as_floating_point_numbers(storage):
    with pytest.raises(ValueError, match=r"storage is .*; expected a type such as torch\.bfloat16, or None"):
        HMM(torch.zeros(2), torch.zeros(2, 2), torch.zeros(2, 3), storage=storage)


def test_batches_of_any_shape():
    hmm, x = model("low rank"), words(2, 3, 5)
    assert hmm.log_prob(x).shape == (2, 3)
    assert hmm.predict(x).shape == (2, 3, 5, 4)
    assert hmm.posterior(x).mode.shape == (2, 3, 5)
    assert hmm.viterbi(x)[0].shape == (2, 3, 5)
    assert hmm.smooth(x[0, 0]).shape == (5, 3)
    assert torch.allclose(hmm.log_prob(x)[1, 2], hmm.log_prob(x[1, 2]))
    empty = words(0, 5)
    assert hmm.log_prob(empty).shape == (0,)
    assert hmm.sample_posterior(empty).shape == (0, 5)
    assert hmm.smooth(words(2, 0)).shape == (2, 0, 3)
    assert hmm.viterbi(words(2, 0))[0].shape == (2, 0)


def test_checkpoints_change_nothing():
    def gradient(checkpoint):
        emission = normal(3, 4, seed=1).requires_grad_()
        hmm = HMM(normal(3), LowRank(normal(3, 2), normal(3, 2, seed=1)), emission, checkpoint=checkpoint)
        return torch.autograd.grad(hmm.log_prob(words(2, 30)).sum(), emission)[0]

    assert torch.allclose(gradient(True), gradient(False), rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"initial": torch.zeros(4)}, "the shapes do not fit together: initial (4,)"),
        ({"emission": torch.zeros(3, 0)}, "emission has shape (3, 0); expected (z, v) with z, v >= 1"),
        ({"transition": torch.zeros(3, 2)}, "transition has shape (3, 2); expected (z, z)"),
        ({"emission": torch.full((3, 4), math.nan)}, "emission holds nan"),
        ({"initial": torch.zeros(3, dtype=torch.int64)}, "initial has dtype torch.int64"),
        ({"initial": torch.zeros(3, dtype=torch.float64)}, "Dense((3, 3)) has dtype torch.float32"),
    ],
)
def test_errors_say_what_is_wrong(change, message):
    fine = {"initial": torch.zeros(3), "transition": torch.zeros(3, 3), "emission": torch.zeros(3, 4)}
    with pytest.raises(ValueError, match=re.escape(message)):
        HMM(**{**fine, **change})


@pytest.mark.parametrize(
    ("x", "lengths", "message"),
    [
        (torch.tensor([0, 4]), None, "x holds 4 at position 1; expected words from 0 to 3"),
        (torch.tensor([0, -1]), None, "x holds -1"),
        (torch.tensor([0.0]), None, "x is of type torch.float32; expected a LongTensor of shape (*, n)"),
        (torch.tensor(0), None, "x has shape ()"),
        (torch.tensor([[0, 1]]), torch.tensor([3]), "lengths holds 3 for batch item 0; expected 0 to 2"),
    ],
)
def test_errors_about_sentences(x, lengths, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        model("dense").log_prob(x, lengths)


def test_gradients_of_torch_func_are_those_of_autograd(hmm, x):
    emission = hmm.emission.logits

    def loss(initial, emission):
        return HMM(initial, hmm.transition, emission, validate_args=False).log_prob(x, LENGTHS).sum()

    leaves = [each.clone().requires_grad_() for each in (hmm.initial, emission)]
    expected = torch.autograd.grad(loss(*leaves), leaves)
    value, pull = torch.func.vjp(loss, hmm.initial, emission)
    by_grad = torch.func.grad(loss, (0, 1))(hmm.initial, emission)
    for right, *gradients in zip(expected, pull(torch.ones_like(value)), by_grad, strict=True):
        assert all(torch.allclose(gradient, right, rtol=1e-9) for gradient in gradients)
    with pytest.raises(NotImplementedError, match="cannot map the gradients of a hidden Markov model"):
        torch.func.jacrev(loss)(hmm.initial, emission)


def test_modes_without_gradients(hmm, x):
    expected = hmm.log_prob(x, LENGTHS)
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            assert torch.equal(hmm.log_prob(x, LENGTHS), expected)
            assert not hmm.smooth(x, LENGTHS).requires_grad
            assert hmm.expected_counts(x, LENGTHS).emission.sum() == pytest.approx(8)
