"""Entropies and cross-entropies of grammars on GPUs; without a GPU, kernels run in Triton's interpreter."""

import math

import pytest
import torch
from tests.kernels.engine.gpu.device import DEVICE, ON_GPU, by_kernels, needed
from tests.structures.pcfg.test_backends import choice
from tests.structures.pcfg.test_gpu import SLOW, grammar, padded

from strukt.kernels.gradients import pull_backs
from strukt.structures.pcfg import gpu, gpu_derivative, gpu_entropy
from strukt.structures.pcfg.reference import REFERENCE

pytestmark = needed

EXACT = {torch.float32: 1e-6, torch.float64: 1e-10}
"""The largest error: relative for entropies, absolute for each of the words in gradients."""


def given(root, rules, emission, spans, lengths, padding=False):
    """Scores with a batch axis, then lengths."""
    emission, spans = padded(emission, spans, lengths) if padding else (emission, spans)
    root, rules = (score[None] if score.dim() in (1, 3) else score for score in (root, rules))
    return spans, root, rules, emission, lengths


def through_kernels(name, *arguments):
    result = by_kernels(getattr(gpu, name), *(each.to(DEVICE) for each in arguments))
    return result.cpu() if isinstance(result, torch.Tensor) else [each.cpu() for each in result]


def drawn(n, s, p, shared, scale, dtype, padding):
    """Two grammars that forbid the same."""
    batch, forbidden = 3 if 2 < n < 5 else 2, 0.1 if n > 2 else 0.0
    root, rules, emission, spans, lengths = grammar(batch, n, s, p, shared, scale, dtype, forbidden)
    mine = (root, rules, emission, spans)
    other = [0.7 * score - 0.4 * score.flip(-1).clamp(min=-9) for score in mine]
    return given(*mine, lengths, padding), given(*other, lengths, padding)[:4]


def entropies(scores, other, lengths):
    """Entropies by the reference; cross-entropies if there are other scores."""
    return REFERENCE.cross_entropy(scores, other, lengths) if other else REFERENCE.entropy(*scores, lengths)


SIZES = [(1, 2, 1, True, 1.0), (3, 2, 2, True, 3.0), (5, 2, 2, False, 1.0), (4, 2, 1, True, 300.0)]

CASES = [
    ("entropy", 2, 1, 2, False, 1.0, torch.float32),
    *(
        pytest.param(name, *sizes, dtype, marks=SLOW)
        for name in ("entropy", "surprise")
        for sizes in SIZES
        for dtype in (torch.float32, torch.float64)
    ),
]


@pytest.mark.parametrize(("name", "n", "s", "p", "shared", "scale", "dtype"), CASES)
def test_equal_those_of_the_reference(name, n, s, p, shared, scale, dtype):
    """With their gradients, in float64; padding is NaN."""
    (*scores, lengths), other = drawn(n, s, p, shared, scale, dtype, padding=False)
    exact, theirs = [score.double() for score in scores], [score.double() for score in other]
    theirs = theirs if name == "surprise" else None
    factors = torch.linspace(-1.0, 2.0, len(lengths), dtype=dtype)

    def number(*scores):
        return entropies(scores[:4], theirs, scores[4])

    right = number(*exact, lengths)
    (slopes,) = pull_backs(number, tuple(exact), [lengths], [factors.double()])
    (*scores, lengths), other = drawn(n, s, p, shared, scale, dtype, padding=True)
    arguments = (*scores, *other, lengths) if theirs else (*scores, lengths)
    found = through_kernels(name, *arguments)
    assert found.dtype == dtype
    assert torch.allclose(found.double(), right, EXACT[dtype], EXACT[dtype] * 1e-3)
    for mine, slope in zip(through_kernels(f"{name}_gradient", *arguments, factors), slopes, strict=True):
        assert mine.dtype == dtype
        assert torch.allclose(mine.double(), slope, 0.0, EXACT[dtype] * n * len(lengths) * max(1.0, scale))


@SLOW
def test_what_rounding_would_lose():
    """The entropy of the first item is a difference of nearly equal numbers; the second one is ordinary."""
    root, rules, _ = choice(0.0)
    emission = torch.stack([choice(difference)[2] for difference in (25.0, 1.0)])
    spans = torch.zeros(2, 3, 3, 3, dtype=torch.float64)
    scores = given(root + 1e6, rules + 1e6, emission, spans, torch.tensor([2, 2]))
    odds = [math.exp(-difference) for difference in (25.0, 1.0)]
    expected = [math.log1p(odd) - math.log(odd) * odd / (1.0 + odd) for odd in odds]
    assert through_kernels("entropy", *scores).tolist() == pytest.approx(expected, rel=1e-9)
    slopes = through_kernels("entropy_gradient", *scores, torch.ones(2, dtype=torch.float64))
    for item, (difference, odd) in enumerate(zip((25.0, 1.0), odds, strict=True)):
        slope = difference * odd / (1.0 + odd) ** 2  # of the better word
        assert slopes[3][item, 0].tolist() == pytest.approx([-slope, slope], rel=1e-6)


def test_an_item_of_which_the_other_grammar_forbids_something():
    root, rules, emission = choice(1.0)
    emission = torch.stack([emission, emission])
    forbidding = emission.clone()
    forbidding[0, 0, 1] = -torch.inf
    spans, lengths = torch.zeros(2, 3, 3, 3, dtype=torch.float64), torch.tensor([2, 2])
    mine, other = given(root, rules, emission, spans, lengths), given(root, rules, forbidding, spans, lengths)
    infinite, finite = through_kernels("surprise", *mine[:4], *other[:4], lengths).tolist()
    assert infinite == math.inf
    assert finite == pytest.approx(math.log1p(math.exp(-1.0)) + math.exp(-1.0) / (1.0 + math.exp(-1.0)))


def test_what_does_not_fit_is_computed_on_the_cpu(monkeypatch):
    monkeypatch.setattr(gpu_derivative, "MOST_ON_GPU", 0)
    (*scores, lengths), other = drawn(3, 2, 2, True, 1.0, torch.float64, padding=False)
    for found, theirs in (
        (through_kernels("entropy", *scores, lengths), None),
        (through_kernels("surprise", *scores, *other, lengths), other),
    ):
        assert torch.allclose(found, entropies(tuple(scores), theirs, lengths), 1e-9)


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_relative_scores(device):
    """The same distribution, with nothing above 0, in the shapes that kernels take; also without memory."""
    (*scores, lengths), _ = drawn(3, 2, 2, True, 30.0, torch.float32, padding=True)
    found = gpu_entropy.relative(tuple(score.to(device) for score in scores), lengths.to(device))
    shapes = [score.shape for score in scores[:3]]
    assert [score.shape for score in found] == [*shapes, (3, 3, 2)]
    assert {(score.device.type, score.dtype) for score in found} == {(device, torch.float64)}
    assert gpu_entropy._forbidding(found, found).shape == (3,)
    if device == "cpu":
        assert max(score.max() for score in found) <= 0.0
        (*scores, lengths), _ = drawn(3, 2, 2, True, 30.0, torch.float32, padding=False)
        exact = REFERENCE.entropy(*(score.double() for score in scores), lengths)
        assert torch.allclose(REFERENCE.entropy(*found, lengths), exact, 1e-9)


@pytest.mark.skipif(not ON_GPU, reason="the interpreter takes minutes")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_many_labels(dtype):
    test_equal_those_of_the_reference("entropy", 20, 17, 20, True, 3.0, dtype)
    test_equal_those_of_the_reference("surprise", 20, 17, 20, True, 3.0, dtype)
