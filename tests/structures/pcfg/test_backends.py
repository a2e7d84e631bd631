"""Kernels of grammars say what the reference says, at sizes around the blocks of their loops."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from tests.kernels.test_backends import normal, single, steep, unchanged
from torch import Tensor

from strukt.distributions import PCFG
from strukt.kernels import dispatch
from strukt.structures.pcfg import cpu, cpu_products

pytestmark = pytest.mark.skipif(
    dispatch.backends()["cpu"] != "available", reason=f"no compiled kernels: {dispatch.backends()['cpu']}"
)

BATCH = 5
MEMBERS: dict[str, Callable[[PCFG], Tensor]] = {
    "log_partition": lambda d: d.log_partition,
    "marginals": lambda d: d.marginals,
    "rule_marginals": lambda d: d.rule_marginals,
    "max_score": lambda d: d.max_score,
    "log_count": lambda d: d.log_count,
    "entropy": lambda d: d.entropy(),
    "cross_entropy": lambda d: d.cross_entropy(another(d)),
    "max_marginals": lambda d: without_gradients(d).max_marginals,
}
NUMBERS = ("log_partition", "max_score", "entropy", "cross_entropy")


def lengths(n: int) -> Tensor:
    return torch.tensor([n, max(n - 1, 0), 1, 0, min(n, 2)])


def build(
    n: int, s: int, p: int, change: Callable[[Tensor], Tensor] = lambda scores: scores, shared: bool = True
) -> tuple[PCFG, tuple[Tensor, ...]]:
    groups = () if shared else (BATCH,)
    shapes = ((*groups, s), (*groups, s, s + p, s + p), (BATCH, n, p), (BATCH, n + 1, n + 1, s + p))
    scores = tuple(change(normal(*shape, seed=k)).requires_grad_() for k, shape in enumerate(shapes))
    root, rules, emission, spans = scores
    return PCFG(root, rules, emission, lengths(n), spans), scores


def without_gradients(trees: PCFG) -> PCFG:
    """The distribution to kernels that have no gradient."""
    spans, root, rules, emission = (score.detach() for score in trees.scores)
    return PCFG(root, rules, emission, trees.lengths, spans)


def another(trees: PCFG) -> PCFG:
    """A grammar of the same trees."""
    spans, root, rules, emission = (0.7 * score - 0.4 * score.flip(-1).clamp(min=-9) for score in trees.scores)
    return PCFG(root, rules, emission, trees.lengths, spans)


def answers(trees: PCFG, scores: tuple[Tensor, ...]) -> dict[str, Tensor]:
    """What each member says, and its gradient in each score tensor, items weighted."""
    found = {}
    for name, member in MEMBERS.items():
        value = member(trees)
        found[name] = value.detach()
        if value.requires_grad and name in NUMBERS:
            weighted = (value * torch.tensor([1.0, -2.0, 3.0, 4.0, 0.5], dtype=value.dtype))[value.isfinite()]
            gradients = torch.autograd.grad(weighted.sum(), scores, materialize_grads=True)
            found |= {f"gradient {i} of {name}": gradient for i, gradient in enumerate(gradients)}
    probabilities = trees.marginals
    factors = normal(*probabilities.shape, seed=9).to(probabilities.dtype)
    gradients = torch.autograd.grad((factors * probabilities).sum(), scores)
    return found | {f"gradient {i} of marginals": gradient for i, gradient in enumerate(gradients)}


def assert_backends_agree(on, build: Callable[[], tuple[PCFG, tuple[Tensor, ...]]], tolerance: float) -> None:
    on("reference")
    expected = answers(*build())
    on("cpu")
    actual = answers(*build())
    for name, value in expected.items():
        assert torch.allclose(actual[name], value, rtol=tolerance, atol=tolerance), name


def sparse(scores: Tensor) -> Tensor:
    return scores.masked_fill(scores < -1.5, -torch.inf)


CHANGES = [(unchanged, 1e-10), (single, 1e-4), (steep, 1e-8), (sparse, 1e-10)]


@pytest.mark.thinned("n", "change", "shared")
@pytest.mark.parametrize(("change", "tolerance"), CHANGES)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 9])
@pytest.mark.parametrize("shared", [True, False])
def test_grammars_of_any_length(on, poisoned_memory, shared, n, change, tolerance):
    assert_backends_agree(on, lambda: build(n, 3, 2, change, shared), tolerance)


@pytest.mark.thinned("s", "shared")
@pytest.mark.parametrize(("s", "p"), [(1, 1), (1, 5), (2, 3), (4, 1), (5, 4), (7, 9), (17, 3), (3, 33)])
@pytest.mark.parametrize("shared", [True, False])
def test_grammars_of_any_number_of_labels(on, poisoned_memory, shared, s, p):
    assert_backends_agree(on, lambda: build(6, s, p, shared=shared), 1e-10)


@pytest.mark.slow
def test_a_long_sentence(on, poisoned_memory):
    assert_backends_agree(on, lambda: build(33, 4, 3), 1e-10)


def mixed(scores: Tensor) -> Tensor:
    """Items in probability space, in log space and without a tree side by side."""
    if len(scores) != BATCH:
        return scores
    factors = torch.tensor([1.0, 400.0, 1.0, 1.0, 400.0], dtype=scores.dtype)
    return scores * factors.reshape(-1, *[1] * (scores.dim() - 1))


@pytest.mark.parametrize("shared", [True, False])
def test_only_items_that_need_it_are_in_log_space(on, poisoned_memory, shared):
    trees, _ = build(6, 2, 3, mixed, shared)
    _, chart = cpu.inside(*(value.detach() for value in trees._arguments()))
    in_log_space = cpu.underflowed_items(chart).tolist()
    assert (0 in in_log_space, 1 in in_log_space) == (False, True)
    assert_backends_agree(on, lambda: build(6, 2, 3, mixed, shared), 1e-8)


def test_groups_of_items_share_a_grammar(on):
    """As ``torch.vmap`` makes them."""
    root, rules, emission = normal(3, 2), normal(3, 2, 5, 5, seed=1), normal(4, 5, 3, seed=2)

    def log_partition(root: Tensor, rules: Tensor) -> Tensor:
        return PCFG(root, rules, emission).log_partition

    found = {}
    for backend in ("reference", "cpu"):
        on(backend)
        value = torch.vmap(log_partition)(root, rules)
        leaves = (root.clone().requires_grad_(), rules.clone().requires_grad_())
        total = torch.stack([log_partition(*pair) for pair in zip(*leaves, strict=True)])
        assert torch.allclose(value, total)
        slope = torch.vmap(torch.func.grad(lambda a, b: log_partition(a, b).sum(), argnums=1))(root, rules)
        assert torch.allclose(slope, torch.autograd.grad(total.sum(), leaves[1])[0])
        found[backend] = value
    assert torch.allclose(found["cpu"], found["reference"])


def test_best_scores_keep_what_maxima_of_single_precision_would_lose(on):
    on("cpu")
    root, rules, emission = torch.zeros(1), torch.zeros(1, 3, 3), torch.zeros(3, 2)
    emission[:, 0] = 1e7
    rules[0, 0, 1] = 0.25  # less than the spacing of numbers of 3e7 in single precision
    mode = PCFG(root, rules, emission).mode
    assert mode[0, 2] == 0
    assert mode[1, 3] == -1


MATRIX, ROWS = normal(7, 9).numpy(), normal(6, 9, seed=1).numpy()


def test_products_of_matrices_with_rows():
    out = np.full((6, 7), np.nan)
    cpu_products.product(MATRIX, ROWS, out)
    assert np.allclose(out, ROWS @ MATRIX.T)
    total = np.ones((6, 9))
    cpu_products.pull(MATRIX, out, total)
    assert np.allclose(total, 1 + out @ MATRIX)
    squares = np.ones((9, 7))
    cpu_products.outer(ROWS, out, squares)
    assert np.allclose(squares, 1 + ROWS.T @ out)


def test_products_of_maxima():
    best = np.full((9, 9), np.nan)
    cpu_products.max_outer(ROWS, ROWS, best)
    assert np.array_equal(best, (ROWS[:, :, None] + ROWS[:, None, :]).max(0))
    out = np.full(9, -np.inf)
    cpu_products.max_pull(MATRIX, ROWS[0, :7].copy(), out)
    assert np.array_equal(out, (ROWS[0, :7, None] + MATRIX).max(0))


def tied(scores: Tensor) -> Tensor:
    """Many trees of the same score."""
    return scores.round()


@pytest.mark.thinned("n", "change")
@pytest.mark.parametrize("change", [unchanged, sparse, tied, steep])
@pytest.mark.parametrize("n", [1, 2, 3, 5, pytest.param(9, marks=pytest.mark.slow)])
@pytest.mark.parametrize("shared", [True, False])
def test_the_k_best_trees(on, poisoned_memory, shared, n, change):
    trees, _ = build(n, 2, 3, change, shared)
    on("reference")
    expected, _ = trees.topk(30)
    on("cpu")
    scores, events = trees.topk(30)
    assert torch.allclose(scores, expected, rtol=1e-9)
    found = trees.oracles.kbest(*(value.detach() for value in trees._arguments()), 30)[1]
    assert torch.allclose(found, scores, rtol=1e-9, atol=1e-9)
    for item, few in zip(events.detach(), scores.isfinite().sum(-1).tolist(), strict=True):
        assert len(item[:few].unique(dim=0)) == few
        assert (item[few:] == -1).all()


def choice(difference: float) -> tuple[Tensor, ...]:
    """A grammar and two words with two trees, whose scores differ by this."""
    emission = torch.tensor([[difference, 0.0], [0.0, -torch.inf]], dtype=torch.float64)
    return torch.zeros(1).double(), torch.zeros(1, 3, 3).double(), emission


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("difference", [0.0, 1e-3, 1.0, 20.0, 37.0, 100.0, 600.0])
def test_entropies_keep_their_digits(on, backend, difference):
    on(backend)
    root, rules, emission = choice(difference)
    odds = math.exp(-difference)
    expected = math.log1p(odds) + difference * odds / (1.0 + odds)
    for offset in (0.0, 1e6):
        assert PCFG(root + offset, rules + offset, emission).entropy().item() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 10.0, 1e3, 1e6])
def test_entropies_at_any_scale(on, scale):
    """Nothing is negative, and nothing is lost beside the reference."""
    answers = []
    for backend in ("reference", "cpu"):
        on(backend)
        trees, scores = build(5, 2, 2, lambda each: scale * each)
        numbers = trees.entropy(), trees.cross_entropy(another(trees))
        slopes = [slope for number in numbers for slope in torch.autograd.grad(number.sum(), scores)]
        answers.append((*numbers, *(slope / max(1.0, scale) for slope in slopes)))
    for place, (true, found) in enumerate(zip(*answers, strict=True)):
        assert torch.allclose(found, true, rtol=1e-6, atol=1e-300 if place < 2 else 1e-9)
        assert place > 1 or (found >= 0).all()


def test_a_cross_entropy_to_a_grammar_that_forbids_more_is_infinite(on):
    root, rules, emission = choice(1.0)
    forbidding = emission.masked_fill(torch.tensor([[False, True], [False, True]]), -torch.inf)
    for backend in ("reference", "cpu"):
        on(backend)
        trees, leaves = PCFG(root, rules, emission), emission.clone().requires_grad_()
        assert trees.cross_entropy(PCFG(root, rules, forbidding)) == torch.inf
        sure = PCFG(root, rules, choice(1e4)[2])
        value = PCFG(root, rules, leaves).cross_entropy(sure)
        assert value.item() == pytest.approx(1e4 / (1.0 + math.e))
        slope = torch.autograd.grad(value, leaves)[0][0]
        share = 1.0 / (1.0 + math.exp(-1.0))
        assert torch.allclose(slope, 1e4 * share * (1.0 - share) * torch.tensor([-1.0, 1.0]).double())
        assert sure.cross_entropy(trees).item() == pytest.approx(math.log1p(math.exp(-1.0)))


def test_the_offset_of_scores_does_not_change_derivatives(on):
    """The logs of a chart reach 1e7; what is scaled by them is not rounded as they are."""
    on("cpu")
    slopes = []
    for offset in (0.0, 1e6):
        trees, scores = build(6, 3, 2, lambda each, offset=offset: each + offset)
        value = trees.entropy() + (normal(*trees.marginals.shape, seed=4) * trees.marginals).sum((-3, -2, -1))
        slopes.append(torch.autograd.grad(value.sum(), scores))
    for level, shifted in zip(*slopes, strict=True):
        assert torch.allclose(level, shifted, rtol=1e-7, atol=1e-8)
