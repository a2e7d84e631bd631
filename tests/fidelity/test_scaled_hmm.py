"""Scaled HMMs against loops over the equations of the draft of 2021 and of Chiu and Rush (2020)."""

import math

import pytest
import torch

from strukt import LowRank
from strukt.nn import NeuralHMM
from strukt.nn.feature_maps import FEATURE_MAPS, FLOOR, feature_map

SIZE, STATES, RANK, WORDS = 3, 5, 4, 6


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def dot(x, y):
    return sum(a * b for a, b in zip(x, y, strict=True))


def distance(x, y):
    return sum((a - b) ** 2 for a, b in zip(x, y, strict=True))


def normalised(row):
    return [value / sum(row) for value in row]


def softmax(row):
    return normalised([math.exp(value) for value in row])


def exponential(rows, x):
    """phi(u) = exp(W u - |u|^2 / 2), the end of section 4."""
    return [math.exp(dot(row, x) - dot(x, x) / 2) for row in rows]


def generalised_softmax(phi, before, after):
    """Equation 5, with K(u, v) = phi(u)' phi(v)."""
    kernel = [[dot(phi(u), phi(v)) for v in after] for u in before]
    return [normalised(row) for row in kernel]


def evidence(start, transition, emission, words):
    """Equations 2 to 4: pi' Lambda_2 ... Lambda_T 1."""
    alpha = [start[z] * emission[z][words[0]] for z in range(len(start))]
    for word in words[1:]:
        operator = [[row[z] * emission[z][word] for z in range(len(row))] for row in transition]
        alpha = [sum(alpha[y] * operator[y][z] for y in range(len(alpha))) for z in range(len(alpha))]
    return sum(alpha)


def maps():
    """Each feature map of ours beside a loop over its equation."""
    linear, learned, fixed, fourier, nystrom = (feature_map(name, SIZE, RANK).double() for name in FEATURE_MAPS)
    weight, bias = linear.weight.tolist(), linear.bias.tolist()
    waves = list(zip(fourier.rows.tolist(), fourier.phase.tolist(), strict=True))
    landmarks = nystrom.landmarks.tolist()

    def similarities(x):
        return [math.exp(-distance(x, landmark) / 2) for landmark in landmarks]

    values, vectors = torch.linalg.eigh(torch.tensor([similarities(x) for x in landmarks], dtype=torch.float64))
    root = (vectors @ values.rsqrt().diag() @ vectors.mT).tolist()
    return {
        "linear": (linear, lambda x: [math.exp(dot(w, x) + b) for w, b in zip(weight, bias, strict=True)]),
        "exponential": (learned, lambda x: exponential(learned.rows.tolist(), x)),
        "favor": (fixed, lambda x: exponential(fixed.rows.tolist(), x)),
        "fourier": (fourier, lambda x: [1 + FLOOR + math.cos(dot(row, x) + phase) for row, phase in waves]),
        "nystrom": (nystrom, lambda x: [max(dot(row, similarities(x)), FLOOR) for row in root]),
    }


@pytest.mark.parametrize("name", FEATURE_MAPS)
def test_transitions_are_a_generalised_softmax(name):
    """Equations 5 and 6."""
    torch.manual_seed(0)
    features, phi = maps()[name]
    before, after = normal(STATES, SIZE, seed=1), normal(STATES, SIZE, seed=2)
    found = LowRank(features(before), features(after)).dense()
    expected = generalised_softmax(phi, before.tolist(), after.tolist())
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))


def linear(layer, x):
    return [dot(row, x) + bias for row, bias in zip(layer.weight.tolist(), layer.bias.tolist(), strict=True)]


def layer_norm(norm, x):
    mean = sum(x) / len(x)
    deviation = (sum((value - mean) ** 2 for value in x) / len(x) + norm.eps) ** 0.5
    scaled = zip(norm.weight.tolist(), x, norm.bias.tolist(), strict=True)
    return [weight * (value - mean) / deviation + bias for weight, value, bias in scaled]


def residual(network, x):
    """LayerNorm(x + ReLU(W_2 ReLU(W_1 x)))."""
    one, _, two, _ = network.added
    hidden = x
    for layer in (one, two):
        hidden = [max(value, 0.0) for value in linear(layer, hidden)]
    return layer_norm(network.norm, [a + b for a, b in zip(x, hidden, strict=True)])


def plain(**options):
    """The published model in double precision: vectors of states, and the start one of them."""
    torch.manual_seed(0)
    options = {"rank": RANK, "features": "exponential"} | options
    return NeuralHMM(STATES, WORDS, size=SIZE, vectors="plain", **options).double()


def published_evidence(model, words, kept=range(STATES), temperature=1.0):
    """Equations 2 to 6 with vectors u_z and v_z of the states that are kept, and u_S of the start."""
    scale = temperature**-0.5
    before, after = (
        [[scale * value for value in vectors.tolist()[z]] for z in kept] for vectors in (model.before, model.after)
    )
    start = [[scale * value for value in model.start.tolist()[0]]]
    rows = model.features.rows.tolist()
    (first,) = generalised_softmax(lambda x: exponential(rows, x), start, after)
    transition = generalised_softmax(lambda x: exponential(rows, x), before, after)
    one, two = model.saying
    said = [residual(two, residual(one, x)) for x in model.emitting.tolist()]
    vectors, biases = model.word_vectors.tolist(), model.bias.tolist()
    logits = [[dot(x, word) + bias for word, bias in zip(vectors, biases, strict=True)] for x in said]
    return evidence(first, transition, [softmax(logits[z]) for z in kept], words)


@pytest.mark.parametrize("temperature", [1.0, 0.25])
def test_the_published_model_is_its_equations(temperature):
    """From vectors to the evidence; the temperature of footnote 1 divides dot products."""
    model, words = plain(temperature=temperature).eval(), [4, 0, 1, 1, 5]
    expected = math.log(published_evidence(model, words, temperature=temperature))
    assert model().log_prob(torch.tensor(words)).item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("rank", [None, RANK])
def test_the_temperature_divides_the_dot_product_of_the_kernel(rank):
    """Footnote 1, of softmax and, in expectation, of its random features."""
    model = plain(rank=rank, features="favor", temperature=0.5).eval()
    before, after = model.before.tolist(), model.after.tolist()
    if rank is None:
        expected = [softmax([dot(u, v) / 0.5 for v in after]) for u in before]
    else:
        rows = model.features.rows.tolist()
        scaled = [[[2**0.5 * value for value in x] for x in vectors] for vectors in (before, after)]
        expected = generalised_softmax(lambda x: exponential(rows, x), *scaled)
    torch.testing.assert_close(model().transition.dense(), torch.tensor(expected, dtype=torch.float64))


def test_state_dropout_is_the_evidence_of_the_states_that_are_kept():
    """States that are dropped have no probability, and all distributions are normalised without them."""
    model, words = plain(state_dropout=0.4), [4, 0, 1, 1, 5]
    torch.manual_seed(3)
    found = model().log_prob(torch.tensor(words)).item()
    torch.manual_seed(3)
    kept = torch.rand(1, STATES).argsort(1)[0, :3].sort().values.tolist()
    assert found == pytest.approx(math.log(published_evidence(model, words, kept)), abs=1e-12)
    assert found != pytest.approx(math.log(published_evidence(model, words)), abs=1e-3)
