"""The derivative of the marginals of grammars on GPUs; without a GPU, kernels run in Triton's interpreter."""

from functools import partial

import pytest
import torch
from tests.kernels.engine.gpu.device import DEVICE, ON_GPU, by_kernels, needed
from tests.structures.pcfg.test_gpu import SLOW, grammar, padded

from strukt.distributions import PCFG
from strukt.kernels.gradients import outside_derivative
from strukt.structures.pcfg import gpu, gpu_derivative, gpu_layout, gpu_rings, gpu_tops
from strukt.structures.pcfg.reference import REFERENCE

pytestmark = needed

EXACT = {torch.float32: 1e-7, torch.float64: 1e-13}
"""The largest error, per word and item, relative to the largest direction."""


def directions_of(scores, seed=1):
    """A random direction, of any size where a score is -inf."""
    generator = torch.Generator().manual_seed(seed)
    drawn = [torch.randn(score.shape, generator=generator, dtype=torch.float64).to(score) for score in scores]
    return [torch.where(score.isfinite(), one, 1e30) for score, one in zip(scores, drawn, strict=True)]


def given(root, rules, emission, spans, lengths):
    """The arguments of a derivative but its chart."""
    root, rules = (score[None] if score.dim() in (1, 3) else score for score in (root, rules))
    scores = (spans, root, rules, emission)
    weights = torch.linspace(-1.0, 2.0, len(lengths), dtype=root.dtype)
    return *scores, lengths, weights, *directions_of(scores)


def through_reference(*arguments):
    """The same gradients through the reference in float64; nothing moves where a score is -inf."""
    each = [value.double() if value.is_floating_point() else value for value in arguments]
    scores, lengths, weights, directions = tuple(each[:4]), each[4], each[5], each[6:]
    pairs = zip(scores, directions, strict=True)
    directions = tuple(one.masked_fill(score == -torch.inf, 0.0) for score, one in pairs)
    return outside_derivative(REFERENCE.log_partition, scores, [lengths], weights, directions)


def through_kernels(spans, root, rules, emission, lengths, *more):
    emission, spans = padded(emission, spans, lengths)
    arguments = (each.to(DEVICE) for each in (spans, root, rules, emission, lengths, *more))
    return [each.cpu() for each in by_kernels(gpu.derivative, *arguments, torch.empty(0))]


def agree(*arguments):
    """Compare gradients with those of the reference in float64."""
    right, found = through_reference(*arguments), through_kernels(*arguments)
    lengths, dtype = arguments[4], arguments[0].dtype
    for mine, exact in zip(found, right, strict=True):
        assert mine.dtype == dtype
        assert torch.allclose(mine.double(), exact, 0.0, EXACT[dtype] * int(lengths.sum()))
    return right


@pytest.mark.parametrize(
    ("n", "s", "p", "shared", "dtype"),
    [
        (2, 1, 2, False, torch.float64),
        *(
            pytest.param(n, s, p, shared, dtype, marks=SLOW)
            for n, s, p in [(1, 2, 1), (2, 3, 2), (3, 2, 1), (5, 2, 2)]
            for shared in (True, False)
            for dtype in (torch.float32, torch.float64)
        ),
    ],
)
def test_equals_that_of_the_reference(n, s, p, shared, dtype):
    agree(*given(*grammar(3 if 2 < n < 5 else 2, n, s, p, shared, 1.0, dtype, 0.1 if n > 2 else 0.0)))


@SLOW
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("scale", [300.0, 1e5])
def test_scores_far_apart(scale, dtype):
    """Several trees are best, and all others have probabilities that plain numbers would lose."""
    root, rules, emission, spans, lengths = grammar(1, 4, 2, 1, True, 1.0, dtype, forbidden=0.1, seed=1)
    scores = (scale * (score / 2).round() for score in (root, rules, emission, spans))
    right = agree(*given(*scores, lengths))
    assert right[0].abs().max() > 0.01


@pytest.mark.parametrize("dtype", [pytest.param(torch.float32, marks=SLOW)])
def test_sums_in_several_parts_and_tiles(monkeypatch, dtype):
    """As for many nonterminals, with a last part that is not full."""
    monkeypatch.setattr(gpu_layout, "PART", 2)
    if not ON_GPU:  # where tiles have a smallest size
        monkeypatch.setattr(gpu_rings, "TILE", 4)
    agree(*given(*grammar(1, 4, 3, 1, dtype=dtype, forbidden=0.1)))


@pytest.mark.slow
def test_derivatives_of_both_orders():
    """Of a log-partition and of marginals, against finite differences in random directions."""
    given = grammar(1, 2, 1, 2, dtype=torch.float64)
    root, rules, emission, spans, lengths = (each.to(DEVICE) for each in given)
    scores = [score.requires_grad_() for score in (root, rules, emission, spans)]

    def log_partition(*scores):
        return PCFG(*scores[:3], lengths, scores[3], validate_args=False).log_partition

    for check in (torch.autograd.gradcheck, torch.autograd.gradgradcheck):
        assert by_kernels(partial(check, log_partition, scores, fast_mode=True))


@SLOW
def test_a_loss_of_marginals():
    """Its gradient, through autograd."""
    root, rules, emission, _, lengths = grammar(1, 2, 2, 2, dtype=torch.float64)

    def slopes(root, rules, emission, lengths):
        scores = [score.detach().requires_grad_() for score in (root, rules, emission)]
        marginals = PCFG(*scores, lengths, validate_args=False).marginals
        return [grad.cpu() for grad in torch.autograd.grad((marginals**2).sum(), scores)]

    found = by_kernels(slopes, *(each.to(DEVICE) for each in (root, rules, emission, lengths)))
    for mine, exact in zip(found, slopes(root, rules, emission, lengths), strict=True):
        assert torch.allclose(mine, exact, 1e-9, 1e-11)


def test_what_does_not_fit_is_computed_on_the_cpu(monkeypatch):
    arguments = given(*grammar(2, 3, 2, 1, dtype=torch.float64))
    monkeypatch.setattr(gpu_derivative, "MOST_ON_GPU", 0)
    for mine, exact in zip(through_kernels(*arguments), through_reference(*arguments), strict=True):
        assert torch.allclose(mine, exact, 1e-9, 1e-11)


@pytest.mark.skipif(ON_GPU, reason="replaces the interpreter")
def test_all_tensors_are_on_the_device(monkeypatch):
    """Tensors without memory do not mix with those of the CPU; nothing is launched."""
    from strukt.structures.pcfg import gpu_products

    monkeypatch.setattr(type(gpu_products.multiply), "run", lambda *_, **__: None)
    root, rules, emission, spans, lengths = grammar(4, 5, 2, 3, shared=False)
    arguments = [each.to("meta") for each in given(root[:2], rules[:1], emission, spans, lengths)]
    found = by_kernels(gpu.derivative, *arguments, torch.empty(0, device="meta"))
    assert [grad.device.type for grad in found] == ["meta"] * 5
    assert [grad.shape for grad in found[:4]] == [score.shape for score in arguments[:4]]


@pytest.mark.skipif(not ON_GPU, reason="the interpreter adds in order anyway")
def test_the_same_bits_in_every_run():
    arguments = given(*grammar(6, 20, 20, 30, scale=3.0, forbidden=0.1))
    first = through_kernels(*arguments)
    for _ in range(50):
        assert all(map(torch.equal, through_kernels(*arguments), first))


@pytest.mark.skipif(not ON_GPU, reason="the interpreter takes minutes")
@pytest.mark.parametrize(("s", "p"), [(16, 16), (17, 5), (31, 33), (40, 1)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_many_labels(s, p, dtype):
    agree(*given(*grammar(5, 20, s, p, True, 3.0, dtype, forbidden=0.05)))


def test_ratios_of_numbers():
    """Exponents count powers of 2^32, or 2^256; a number of 0 divides nothing."""
    for dtype, unit in ((torch.float32, 32), (torch.float64, 256)):
        mantissas = torch.tensor([-3.0, 5.0, 0.0, 1.5], dtype=dtype)
        exponents = torch.tensor([1, -2, 7, 0]).int()
        below = torch.tensor([1.5, 0.0, 2.0, 3.0], dtype=dtype), torch.tensor([0, 0, 1, 0]).int()
        expected = torch.tensor([-2.0 * 2.0**unit, 0.0, 0.0, 0.5], dtype=torch.float64)
        assert torch.equal(gpu_tops.ratios((mantissas, exponents), below), expected)
