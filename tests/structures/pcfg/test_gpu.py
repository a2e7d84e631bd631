"""The kernels of grammars for GPUs answer as those for CPUs do; without a GPU they run in Triton's interpreter."""

import pytest
import torch
from tests.kernels.engine.gpu.device import DEVICE, ON_GPU, SLOW, by_kernels, needed

from strukt.distributions import PCFG
from strukt.kernels import dispatch
from strukt.structures.pcfg import gpu, gpu_layout, gpu_rings

pytestmark = needed

PACKAGE = "strukt.structures.pcfg"
EXACT = {torch.float32: (1e-6, 1e-5), torch.float64: (1e-12, 1e-11)}
"""The largest relative error of log-partitions, and the largest absolute one of expected numbers of parts."""


def grammar(batch, n, s, p, shared=True, scale=1.0, dtype=torch.float32, forbidden=0.0, seed=0):
    """Scores of roots, rules, words and spans, and lengths from n down to 0 in turn."""
    generator = torch.Generator().manual_seed(seed)

    def scores(*shape):
        score = scale * torch.randn(shape, generator=generator, dtype=torch.float64)
        return torch.where(torch.rand(shape, generator=generator) < forbidden, -torch.inf, score).to(dtype)

    groups = () if shared else (batch,)
    lengths = torch.tensor([n - item % (n + 1) for item in range(batch)])
    root, rules = scores(*groups, s), scores(*groups, s, s + p, s + p)
    return root, rules, scores(batch, n, p), scores(batch, n + 1, n + 1, s + p), lengths


def answers(root, rules, emission, spans, lengths, factors):
    """Log-partitions, scores of best trees, gradients of the former, and best trees."""
    scores = [score.detach().requires_grad_() for score in (root, rules, emission, spans)]
    here = PCFG(*scores[:3], lengths, scores[3], validate_args=False)
    grads = torch.autograd.grad((here.log_partition * factors).nan_to_num(neginf=0.0).sum(), scores)
    mode, score = here.oracles.best(*(each.detach() for each in here._arguments()))
    return [each.detach().cpu() for each in (here.log_partition, score, *grads, mode)]


def padded(emission, spans, lengths):
    """The scores with NaN wherever nobody may read."""
    n = emission.shape[1]
    ends = torch.arange(n + 1)
    outside = (ends > lengths[:, None])[:, None, :] | (ends[:, None] >= ends)
    words = (ends[1:] > lengths[:, None])[..., None]
    return emission.masked_fill(words, torch.nan), spans.masked_fill(outside[..., None], torch.nan)


def agree(root, rules, emission, spans, lengths):
    """Compare answers with those to the same scores in float64 on the CPU."""
    factors = torch.linspace(-1.0, 2.0, len(emission), dtype=root.dtype)
    scores = (root, rules, emission, spans)
    right = answers(*(score.double() for score in scores), lengths, factors.double())
    given = (root, rules, *padded(emission, spans, lengths), lengths, factors)
    found = by_kernels(answers, *(each.to(DEVICE) for each in given))
    relative, absolute = EXACT[root.dtype]
    for mine, exact in zip(found[:2], right[:2], strict=True):
        assert torch.allclose(mine.double(), exact, relative, 10 * relative)
    for mine, exact in zip(found[2:6], right[2:6], strict=True):
        assert torch.allclose(mine.double(), exact, 0.0, absolute * emission.shape[1] * len(emission))
    some = right[1].isfinite() & (lengths > 0)
    assert (found[6][~some] == -1).all()
    here = PCFG(*(score.double() for score in scores[:3]), lengths, spans.double(), validate_args=False)
    assert torch.allclose(here.score(found[6])[some], right[1][some], 1e-6)


@pytest.mark.parametrize(
    ("n", "s", "p", "shared"),
    [
        (2, 1, 3, False),
        *(
            pytest.param(n, s, p, shared, marks=SLOW)
            for n, s, p in [(1, 2, 1), (2, 3, 2), (3, 2, 2), (4, 2, 1), (5, 3, 2)]
            for shared in (True, False)
        ),
    ],
)
def test_equal_those_of_the_cpu(n, s, p, shared):
    agree(*grammar(3 if n < 4 else 2, n, s, p, shared, forbidden=0.1 if n > 2 else 0.0))


@pytest.mark.parametrize(("s", "part", "tile"), [(3, 2, 32), pytest.param(5, 8, 4, marks=SLOW)])
def test_sums_in_several_parts_and_tiles(monkeypatch, s, part, tile):
    """As for many nonterminals, with a last part that is not full."""
    monkeypatch.setattr(gpu_layout, "PART", part)
    if not ON_GPU:  # where tiles have a smallest size
        monkeypatch.setattr(gpu_rings, "TILE", tile)
    agree(*grammar(1, 4, s, 1, forbidden=0.1))


@SLOW
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("scale", [300.0, 1e5])
def test_scores_far_apart(scale, dtype):
    """What plain numbers would lose; some scores are -inf."""
    agree(*grammar(1, 4, 2, 1, True, scale, dtype, forbidden=0.1))


@pytest.mark.skipif(not ON_GPU, reason="the interpreter takes minutes")
@pytest.mark.parametrize(("s", "p"), [(16, 16), (17, 5), (31, 33), (32, 64), (40, 1), (100, 60)])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_many_labels(s, p, shared, dtype):
    agree(*grammar(5, 20, s, p, shared, 3.0, dtype, forbidden=0.05))


def test_the_first_of_tied_trees():
    """As on the CPU; some rules are forbidden, and the last item has one word only."""
    rules = torch.zeros(2, 4, 4)
    rules[0, 1, 2], rules[0, 2, 2] = -torch.inf, -torch.inf
    given = torch.zeros(2), rules, torch.zeros(2, 3, 2), torch.tensor([3, 1])

    def mode(*scores):
        return PCFG(*scores, validate_args=False)._best()[0].cpu()

    assert torch.equal(by_kernels(mode, *(each.to(DEVICE) for each in given)), mode(*given))


@pytest.mark.parametrize(
    ("n", "s", "p", "shared", "dtype"),
    [
        (4, 2, 1, False, torch.float64),
        *(
            pytest.param(n, s, p, shared, dtype, marks=SLOW)
            for n, s, p in [(1, 2, 1), (2, 1, 3), (5, 3, 2)]
            for shared, dtype in ((True, torch.float32), (False, torch.float64))
        ),
    ],
)
def test_the_best_trees_with_each_span(n, s, p, shared, dtype):
    root, rules, emission, spans, lengths = grammar(3, n, s, p, shared, 3.0, dtype, forbidden=0.1)

    def best(*given):
        return PCFG(*given[:3], given[4], given[3], validate_args=False).max_marginals.cpu()

    given = root, rules, *padded(emission, spans, lengths), lengths
    found = by_kernels(best, *(each.to(DEVICE) for each in given))
    right = best(*(each.double() for each in (root, rules, emission, spans)), lengths)
    assert torch.allclose(found.double(), right, 10 * EXACT[dtype][0], EXACT[dtype][1])


@pytest.mark.skipif(not ON_GPU, reason="the interpreter adds in order anyway")
def test_the_same_bits_in_every_run():
    given = [each.to(DEVICE) for each in grammar(6, 20, 20, 30, scale=3.0, forbidden=0.1)]
    factors = torch.ones(6, device=DEVICE)
    first = by_kernels(answers, *given, factors)
    for _ in range(50):
        assert all(map(torch.equal, by_kernels(answers, *given, factors), first))


@pytest.mark.parametrize(
    ("n", "s", "p", "answering"), [(3, 2, 1, True), (0, 2, 1, False), (40, 2000, 10, False)]
)
def test_what_answers(n, s, p, answering):
    """Kernels for GPUs unless there are no words, or the rules are too many."""
    zero = torch.zeros(1, device=DEVICE)
    shapes = (2, n + 1, n + 1, s + p), (1, s), (1, s, s + p, s + p), (2, n, p)
    scores = [zero.expand(*shape) for shape in shapes]
    lengths = torch.zeros(2, dtype=torch.int64, device=DEVICE)
    found = by_kernels(dispatch.select, PACKAGE, *scores, lengths)
    assert getattr(found, "__name__", None) == (f"{PACKAGE}.gpu" if answering else None)


def test_a_backward_pass_that_does_not_fit_makes_its_own_chart(monkeypatch):
    """As after `torch.func.vmap`, by which a batch grows between the passes."""
    root, rules, emission, _, lengths = (each.to(DEVICE) for each in grammar(2, 2, 2, 1, dtype=torch.float64))
    leaf = emission.requires_grad_()

    def gradient(room):
        value = PCFG(root, rules, leaf, lengths, validate_args=False).log_partition[lengths > 1].sum()
        monkeypatch.setattr(gpu, "MOST_ON_GPU", room)
        return torch.autograd.grad(value, leaf)[0]

    right = by_kernels(gradient, gpu.MOST_ON_GPU)
    assert torch.allclose(by_kernels(gradient, 0), right, 0.0, 1e-11)
