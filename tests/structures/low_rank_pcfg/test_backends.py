"""Kernels of grammars of low rank say what the reference says, and what a grammar with the same rules says."""

from collections.abc import Callable

import pytest
import torch
from tests.kernels.test_backends import normal, single, steep, unchanged
from torch import Tensor

from strukt.distributions import PCFG, LowRankPCFG
from strukt.kernels import dispatch
from strukt.structures.low_rank_pcfg import cpu, cpu_sentences, weights
from strukt.structures.low_rank_pcfg.rank_inside import cpu as lean
from strukt.structures.low_rank_pcfg.rules import LARGEST, composed

pytestmark = pytest.mark.skipif(
    dispatch.backends()["cpu"] != "available", reason=f"no compiled kernels: {dispatch.backends()['cpu']}"
)

BATCH = 5
ITEMS = torch.tensor([1.0, -2.0, 3.0, 4.0, 0.5], dtype=torch.float64)


def lengths(n: int) -> Tensor:
    return torch.tensor([n, max(n - 1, 0), 1, 0, min(n, 2)])


def build(
    n: int,
    s: int,
    p: int,
    r: int,
    change: Callable[[Tensor], Tensor] = lambda scores: scores,
    shared: bool = True,
    spans: bool = False,
) -> tuple[LowRankPCFG, tuple[Tensor, ...]]:
    groups = () if shared else (BATCH,)
    shapes = [(*groups, s), (*groups, r, s + p), (*groups, r, s + p), (*groups, s, r), (BATCH, n, p)]
    shapes += [(BATCH, n + 1, n + 1, s + p)] if spans else []
    scores = tuple(change(normal(*shape, seed=k)).requires_grad_() for k, shape in enumerate(shapes))
    return LowRankPCFG(*scores[:5], lengths(n), *scores[5:]), scores


def answers(trees: LowRankPCFG | PCFG, scores: tuple[Tensor, ...]) -> dict[str, Tensor]:
    """Log-partition and marginals, and the gradient of the first in each score tensor, items weighted."""
    value = trees.log_partition
    weighted = (value * ITEMS.to(value.dtype))[value.isfinite()]
    gradients = torch.autograd.grad(weighted.sum(), scores, materialize_grads=True)
    found = {"log_partition": value.detach(), "marginals": trees.marginals.detach()}
    return found | {f"gradient {k}": gradient for k, gradient in enumerate(gradients)}


def assert_same(actual: dict[str, Tensor], expected: dict[str, Tensor], tolerance: float) -> None:
    for name, value in expected.items():
        assert torch.allclose(actual[name].to(value.dtype), value, rtol=tolerance, atol=tolerance), name


def sparse(scores: Tensor) -> Tensor:
    return scores.masked_fill(scores < -1.0, -torch.inf)


CHANGES = [(unchanged, 1e-10), (single, 1e-4), (steep, 1e-8), (sparse, 1e-10)]


@pytest.mark.thinned("n", "change")
@pytest.mark.parametrize(("change", "tolerance"), CHANGES)
@pytest.mark.parametrize("n", [1, 2, 3, 6])
@pytest.mark.parametrize("spans", [False, True])
def test_sentences_of_any_length(on, poisoned_memory, n, spans, change, tolerance):
    on("reference")
    expected = answers(*build(n, 3, 2, 4, change, spans=spans))
    on("cpu")
    assert_same(answers(*build(n, 3, 2, 4, change, spans=spans)), expected, tolerance)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (1, 5, 3), (4, 1, 2), (17, 3, 2), (3, 2, 17), (9, 33, 8)])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("spans", [False, True])
def test_grammars_of_any_size_are_grammars_with_their_rules(on, poisoned_memory, sizes, shared, spans):
    """Among them some of a rank above and below the number of nonterminals, through which spans then go or not."""
    on("cpu")
    trees, scores = build(7, *sizes, shared=shared, spans=spans)
    assert_same(answers(trees, scores), answers(trees.to_pcfg(), scores), 1e-10)


def test_both_ways_from_the_ranks_of_a_span_to_its_values_are_taken():
    found = []
    for s, r in ((9, 2), (3, 17)):
        trees, _ = build(7, s, 2, r)
        _, root, left, right, head, emission, of_items = (value.detach() for value in trees._arguments())
        chart = torch.empty(cpu.shape_of_chart(BATCH, emission, head), dtype=torch.float64)
        work = cpu_sentences.Sentences(weights.weigh(root, left, right, head), emission, None, of_items, chart)
        found.append(work.joined is None)
    assert found == [False, True]


def test_a_long_sentence(on, poisoned_memory):
    on("cpu")
    trees, scores = build(33, 4, 3, 5)
    assert_same(answers(trees, scores), answers(trees.to_pcfg(), scores), 1e-9)


def mixed(scores: Tensor) -> Tensor:
    """Items in probability space and in log space side by side."""
    factors = torch.ones(BATCH, dtype=scores.dtype)
    factors[1], factors[4] = 400, 400
    return scores * factors.reshape(-1, *[1] * (scores.dim() - 1)) if len(scores) == BATCH else scores


@pytest.mark.parametrize("spans", [False, True])
def test_only_items_that_need_it_are_in_log_space(on, poisoned_memory, spans):
    on("cpu")
    trees, scores = build(6, 3, 3, 4, mixed, shared=False, spans=spans)
    given = tuple(value.detach() for value in trees._arguments())
    _, chart = cpu.inside(*given)
    assert 1 in cpu.underflowed_items(chart).tolist()
    assert 0 not in cpu.underflowed_items(chart).tolist()
    found = answers(trees, scores)
    on("reference")
    assert_same(found, answers(trees, scores), 1e-8)


def test_values_that_underflow_are_missed_only_where_they_matter(on):
    """The left child of the only rank is label 0, which it outweighs by e^800 in label 1, of no further use."""
    on("cpu")
    trees, (root, left, right, head, _) = build(4, 2, 1, 2)
    with torch.no_grad():
        head[:] = torch.tensor([[0.0, -800.0], [-torch.inf, 0.0]])
        root[:] = torch.tensor([-torch.inf, 0.0])
        left[0], left[1, 1], right[1, :2] = -torch.inf, -torch.inf, -torch.inf
    expected = trees.to_pcfg().log_partition
    assert (-1700 < expected[0] < -1500).item()
    assert torch.allclose(trees.log_partition, expected)
    with torch.no_grad():
        left[1, 1] = 0.0
    given = (score.detach() for score in (trees.scores[5], *(score[None] for score in trees.scores[1:5])))
    _, chart = lean.inside(*given, trees.lengths)
    assert 0 not in cpu.underflowed_items(chart).tolist()
    assert torch.allclose(trees.log_partition, trees.to_pcfg().log_partition)


def test_what_underflows_may_overtake_what_did_not(on):
    """A tree under label 1 begins with a word of e^-800, one under label 0 loses e^-300 at each of three words."""
    on("cpu")
    never = -torch.inf
    head = torch.tensor([[0.0, never], [never, 0.0]], dtype=torch.float64)
    left = torch.tensor([[-300.0, never, 0.0, never], [never, 0.0, never, 0.0]], dtype=torch.float64)
    right = torch.tensor([never, never, 0.0, never], dtype=torch.float64).expand(2, 4)
    emission = torch.zeros(5, 2, dtype=torch.float64)
    emission[0, 1] = -800
    trees = LowRankPCFG(torch.zeros(2, dtype=torch.float64), left, right, head, emission)
    assert trees.log_partition.item() == pytest.approx(-800)
    assert trees.marginals[0, 5, 1].item() == pytest.approx(1)


@pytest.mark.parametrize("spans", [False, True])
@pytest.mark.parametrize("scale", [1.0, 6.0, 15.0, 40.0])
@pytest.mark.parametrize("sizes", [(6, 5, 4), (3, 4, 17)])
def test_single_precision_has_the_range_of_double(on, sizes, scale, spans):
    """At the smallest scale all products are in single precision, at the largest none, between them some."""
    on("cpu")
    trees, scores = build(8, *sizes, lambda scores: (scale * scores).float(), spans=spans)
    kind = weights.weigh(*(score.detach()[None] for score in scores[:4])).head.dtype
    assert (kind == torch.float32) == (scale < 10)
    assert_same(answers(trees, scores), answers(trees.to_pcfg(), scores), 1e-5)


def test_products_in_single_precision_lose_nothing():
    rows = normal(5, 7).abs()
    rows[1] *= 1e-200
    rows[2, 3] = 1e-30
    rows[3] = 0
    matrix = normal(7, 4, seed=1).abs().float()
    for some in (rows[[0, 1, 3]], rows, -rows):
        assert torch.allclose(weights.times(some, matrix), some @ matrix.double(), rtol=1e-6, atol=0)
    only = torch.zeros(7, 4)
    only[3] = 1
    assert torch.equal(weights.times(rows, only)[2], torch.full((4,), 1e-30, dtype=torch.float64))


def test_a_product_of_weights_that_is_too_small_is_in_double_precision():
    head, symbols = torch.tensor([[[1.0], [1e-17]]]), torch.tensor([[[1.0, 1e-17], [0.0, 1e-17]]])
    small = weights.Weights(torch.ones(1, 2), head, symbols, torch.zeros(1), torch.zeros(1))
    assert small.joined.dtype == torch.float64
    assert small.joined[0, 0, 1].item() == pytest.approx(1e-34)
    assert small._replace(symbols=torch.ones(1, 2, 2)).joined.dtype == torch.float32


def test_steep_derivatives_are_multiplied_in_double_precision(on, monkeypatch):
    """Of the weight of a word only one part in 10^30 can be used: the derivative in it is that large."""
    on("cpu")
    trees, scores = build(6, 3, 4, 5, single)
    with torch.no_grad():
        scores[-1][:, 2] -= torch.tensor([0.0, 70.0, 70.0, 70.0])
        scores[1][:, 3] = scores[2][:, 3] = -torch.inf
    kinds = []
    monkeypatch.setattr(
        weights.Weights,
        "double",
        lambda self, widened=weights.Weights.double: kinds.append(1) or widened(self),
    )
    found = answers(trees, scores)
    assert kinds
    assert_same(found, answers(trees.to_pcfg(), scores), 2e-5)


def test_sentences_without_a_tree_have_no_gradient_and_leave_others_alone(on):
    on("cpu")
    trees, scores = build(5, 3, 2, 4)
    with torch.no_grad():
        scores[-1][1] = -torch.inf
    value = trees.log_partition
    assert value[1] == value[2] == -torch.inf
    gradients = torch.autograd.grad(value.nan_to_num(neginf=0).sum(), scores)
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert (gradients[-1][1] == 0).all()
    assert (trees.marginals[1] == 0).all()


def test_groups_of_items_share_a_grammar(on):
    """As ``torch.vmap`` makes them."""
    on("cpu")
    root, left, right = normal(3, 2), normal(3, 4, 5, seed=1), normal(3, 4, 5, seed=2)
    head, emission = normal(3, 2, 4, seed=3), normal(4, 5, 3, seed=4)

    def log_partition(*grammar: Tensor) -> Tensor:
        return LowRankPCFG(*grammar, emission).log_partition

    grammars = (root, left, right, head)
    each = [log_partition(*(score[k] for score in grammars)) for k in range(3)]
    assert torch.allclose(torch.vmap(log_partition)(*grammars), torch.stack(each))
    slope = torch.vmap(torch.func.grad(lambda *g: log_partition(*g).sum(), argnums=3))(*grammars)
    leaf = head[1].clone().requires_grad_()
    (expected,) = torch.autograd.grad(log_partition(root[1], left[1], right[1], leaf).sum(), leaf)
    assert torch.allclose(slope[1], expected)


def test_training_makes_no_table_of_spans_and_labels(on, monkeypatch):
    on("cpu")
    monkeypatch.setattr(cpu, "label_gradients", None)
    monkeypatch.setattr(cpu, "outside", None)
    trees, scores = build(7, 9, 4, 2)
    found = torch.autograd.grad(trees.log_partition[[0, 1, 4]].sum(), scores)
    monkeypatch.undo()
    on("reference")
    expected = torch.autograd.grad(trees.log_partition[[0, 1, 4]].sum(), scores)
    assert all(torch.allclose(a, b) for a, b in zip(found, expected, strict=True))
    assert lean.chart_shape(*(trees.scores[k] for k in (5, 1, 2, 3)), trees.scores[4][None], None)[0] == BATCH


def test_rules_multiplied_out_in_chunks_are_the_same(monkeypatch):
    scores = [normal(4, 6, seed=1), normal(4, 6, seed=2), normal(2, 4, seed=3)]
    leaves = [score[None].requires_grad_() for score in scores]
    whole = composed(*leaves)
    slopes = torch.autograd.grad(whole.sin().sum(), leaves)
    monkeypatch.setattr("strukt.structures.low_rank_pcfg.rules.CHUNK", 1)
    assert torch.equal(composed(*leaves), whole)
    for slope, expected in zip(
        torch.autograd.grad(composed(*leaves).sin().sum(), leaves), slopes, strict=True
    ):
        assert torch.allclose(slope, expected)


def test_too_many_rules_are_not_multiplied_out():
    labels = 1 + int(LARGEST**0.5)
    with pytest.raises(NotImplementedError, match="more than 16777216; log_partition, marginals"):
        composed(torch.zeros(1, 1, labels), torch.zeros(1, 1, labels), torch.zeros(1, 1, 1))
