"""Single precision on long inputs and at large, small and shifted scores."""


import pytest
import torch
from tests.further import SUBJECTS
from tests.known_failures.everything import LONG, LONG_NAMES, long_scores, members, normal
from tests.structures.non_projective_tree.matrix_tree import log_partition_and_marginals
from torch.autograd import grad

from strukt.distributions import PCFG, LinearChain, NonProjectiveTree
from strukt.testing import brute_force
from strukt.testing.operators import random_arguments

COMPILED_FOR_SECONDS = ("MonotoneAlignment", "PCFG", "SemiMarkov", "SpanTree")
"""Structures whose kernels no other quick test needs in single precision."""


@pytest.mark.parametrize(
    ("scale", "offset", "backend"),
    [
        (1, 0, "cpu"),
        (5, 100, "cpu"),
        (1, 1000, "cpu"),
        (5, 1000, "cpu"),
        *(
            pytest.param(*numbers, "reference", marks=pytest.mark.slow)
            for numbers in ((1, 0), (5, 100), (1, 1000), (5, 1000))
        ),
    ],
)
def test_marginals_of_long_chains_do_not_drift(scale, offset, backend, monkeypatch):
    """Unscaled recursions are off by 1e-2 to 1.9 after a thousand steps (pytorch-struct #61)."""
    monkeypatch.setenv("STRUKT_BACKEND", backend)
    unary, transition = scale * normal(1000, 16) + offset, normal(16, 16, seed=1)
    single, double = LinearChain(unary, transition), LinearChain(unary.double(), transition.double())
    for name in ("marginals", "transition_marginals"):
        assert (getattr(single, name) - getattr(double, name)).abs().max() < 1e-5, name
    assert torch.allclose(single.log_partition.double(), double.log_partition, rtol=2e-7)
    leaves = unary.clone().requires_grad_()
    (gradient,) = grad(LinearChain(leaves, transition).log_partition, leaves)
    assert (gradient - double.marginals).abs().max() < 1e-5


def test_a_sum_over_a_hundred_thousand_steps_is_not_rounded_at_each():
    """A running sum in single precision is off by nats."""
    unary, transition = normal(100_000, 4) - 5, normal(4, 4, seed=1)
    single, double = LinearChain(unary, transition), LinearChain(unary.double(), transition.double())
    assert torch.allclose(single.log_partition.double(), double.log_partition, rtol=2e-7)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name in COMPILED_FOR_SECONDS else ()) for name in LONG],
)
@pytest.mark.parametrize(
    ("scale", "offset", "backend"),
    [
        (2e4, 1000, "cpu"),
        pytest.param(1, 1000, "cpu", marks=pytest.mark.slow),
        *(pytest.param(scale, 1000, "reference", marks=pytest.mark.slow) for scale in (1, 2e4)),
    ],
)
def test_no_probability_exceeds_one(name, scale, offset, backend, monkeypatch):
    """Log-probabilities above 0 and marginals above 1 when scores are large (pytorch-struct #61, #117)."""
    monkeypatch.setenv("STRUKT_BACKEND", backend)
    make, scores = LONG[name][0], long_scores(name, scale, offset)
    single, double = make(*scores), make(*(score.double() for score in scores))
    torch.manual_seed(0)
    for event in (single.mode, *single.sample((5,))):
        assert single.log_prob(event) <= 0
    assert (single.marginals >= -1e-12).all()
    assert (single.marginals <= 1).all()
    assert (single.marginals - double.marginals).abs().max() < 1e-5
    assert torch.allclose(single.entropy().double(), double.entropy(), rtol=1e-6, atol=1e-6)


@LONG_NAMES
def test_ranked_scores_descend(name):
    """Found in one order of summation and reported in another, the k best scores may rise."""
    make, scores = LONG[name][0], long_scores(name)
    for offset in (0, 1000):
        found, events = make(scores[0] + offset, *scores[1:]).topk(6)
        assert (found.diff() <= 0).all()
        assert len(events.flatten(1).unique(dim=0)) == 6


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("level", [-12, -1000])
def test_low_scores_of_arcs_are_not_drowned(level, single_root):
    """An epsilon added to each weight, or a clip at -10, is all that is left of small weights."""
    arcs = normal(4, 5).double() + level
    trees, table = (
        NonProjectiveTree(arcs, single_root=single_root),
        brute_force.non_projective_tree(4, arcs, single_root),
    )
    for name in ("log_partition", "marginals"):
        assert torch.allclose(getattr(trees, name), getattr(table, name), rtol=1e-12, atol=1e-12), name
    assert torch.allclose(trees.entropy(), table.entropy(), rtol=1e-10)


@pytest.mark.thinned("scale", "single_root")
@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("scale", [10, 50, pytest.param(200, marks=pytest.mark.slow)])
def test_sums_over_non_projective_trees_at_any_scale(scale, single_root):
    """One shift for the whole matrix: log-partition off by 43, marginals of 1e10, or NaN."""
    arcs = scale * normal(20, 21)
    trees = NonProjectiveTree(arcs, single_root=single_root)
    log_partition, marginals = log_partition_and_marginals(arcs, single_root)
    assert trees.log_partition.item() == pytest.approx(log_partition, rel=1e-6)
    assert torch.allclose(trees.marginals.double(), marginals, atol=1e-4)


@pytest.mark.parametrize("scale", [*(pytest.param(scale, marks=pytest.mark.slow) for scale in (1, 10)), 30])
def test_sharp_grammars_keep_the_mass_of_rare_spans(scale):
    """1e-9 added inside a logarithm hides small spans and biases wide ones."""
    root, rules, emission = normal(3), scale * normal(3, 7, 7, seed=1), scale * normal(20, 4, seed=2)
    single, double = PCFG(root, rules, emission), PCFG(root.double(), rules.double(), emission.double())
    assert torch.allclose(single.log_partition.double(), double.log_partition, rtol=1e-6)
    assert torch.allclose(single.marginals.double(), double.marginals, atol=1e-4)
    small = PCFG(root.double(), rules.double(), emission[:4].double())
    table = brute_force.pcfg(4, torch.zeros(5, 5, 7), root, rules, emission[:4])
    assert torch.allclose(small.marginals, table.marginals, rtol=1e-6, atol=1e-30)


@pytest.mark.thinned("subject", "dtype")
@SUBJECTS
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_type_of_the_scores_is_the_type_of_the_answer(subject, dtype):
    """Log-partitions are cast to single precision whatever comes in, so that no gradient can be checked."""
    case = subject.case((3,)).map(lambda score: score.to(dtype))
    distribution, asked = case.distribution(), random_arguments(case)
    for name, of in members(case).items():
        found = of(distribution, asked)
        assert found.dtype == (dtype if found.is_floating_point() else torch.int64), name
