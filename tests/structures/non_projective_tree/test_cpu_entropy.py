"""Entropies of non-projective trees by compiled code: right to many digits at any scale, and their gradients."""

import functools
import itertools
import math

import mpmath
import pytest
import torch
from tests.kernels.test_backends import normal, unchanged
from tests.structures.non_projective_tree.test_kbest import ROOTS, nested
from tests.structures.test_kbest_trees import lengths, sparse, tied
from torch import Tensor

from strukt.distributions import NonProjectiveTree
from strukt.kernels import dispatch

pytestmark = pytest.mark.skipif(
    dispatch.backends()["cpu"] != "available", reason=f"no compiled kernels: {dispatch.backends()['cpu']}"
)

SCALES = pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0, 200.0, 1e6])


def one_way(scores: Tensor) -> Tensor:
    """Words lean to the left, so that one word has no head but the root."""
    positions = torch.arange(scores.shape[-1])
    return scores.masked_fill(positions > positions[1:, None], -torch.inf)


def coupled(scores: Tensor) -> Tensor:
    """Two words want each other more than all else."""
    changed = scores.clone()
    changed[:, 0, 2] += 30 * scores.abs().max()
    changed[:, 1, 1] += 30 * scores.abs().max()
    return changed


CHANGES = pytest.mark.parametrize("change", [unchanged, sparse, tied, nested, one_way, coupled])


@functools.cache
def trees(n: int, single_root: bool) -> list[tuple[int, ...]]:
    """All trees, as heads."""

    def is_tree(heads: tuple[int, ...]) -> bool:
        reached = {0}
        for _ in heads:
            reached |= {m + 1 for m, head in enumerate(heads) if head in reached}
        return len(reached) == n + 1 and (heads.count(0) == 1 or not single_root)

    return [heads for heads in itertools.product(range(n + 1), repeat=n) if is_tree(heads)]


def exact(arcs: Tensor, others: Tensor, single_root: bool) -> tuple[float, Tensor]:
    """-E[log q] of one item and its gradient in ``arcs``, by enumeration with 340 digits."""
    n = len(arcs)
    gradient = torch.zeros_like(arcs)
    with mpmath.workdps(340):
        mine, theirs = (
            [mpmath.fsum(map(mpmath.mpf, scores[range(n), heads].tolist())) for heads in trees(n, single_root)]
            for scores in (arcs, others)
        )
        if max(mine) == -mpmath.inf:
            return 0.0, gradient
        if max(theirs) == -mpmath.inf:
            return math.inf, gradient
        weights = [mpmath.exp(score - max(mine)) for score in mine]
        shares = [weight / mpmath.fsum(weights) for weight in weights]
        total = mpmath.log(mpmath.fsum(mpmath.exp(score - max(theirs)) for score in theirs))
        surprises = [total + max(theirs) - score for score in theirs]
        used = [each for each in zip(shares, surprises, trees(n, single_root), strict=True) if each[0] > 0]
        mean = mpmath.fsum(share * surprise for share, surprise, _ in used)
        for word, head in itertools.product(range(n), range(n + 1)):
            if mean < mpmath.inf:
                terms = (share * (surprise - mean) for share, surprise, heads in used if heads[word] == head)
                gradient[word, head] = float(mpmath.fsum(terms))
    return float(mean), gradient


def assert_right(found: float, slope: Tensor, expected: tuple[float, Tensor], tolerance: float) -> None:
    value, gradient = expected
    assert found == pytest.approx(value, rel=tolerance, abs=2.3e-308)
    bound = tolerance * max(gradient.abs().max().item(), value if value < math.inf else 0.0)
    assert (slope - gradient).abs().max() <= max(bound, 2.3e-308)


@pytest.mark.thinned("scale", "change")
@ROOTS
@CHANGES
@SCALES
@pytest.mark.parametrize("n", [2, 4])
def test_entropies_and_gradients_are_right_to_many_digits(n, scale, change, single_root):
    arcs, others = (scale * change(normal(2, n, n + 1, seed=seed)) for seed in (n, n + 10))
    arcs.requires_grad_()
    tree, other = (NonProjectiveTree(each, single_root=single_root, labelled=False) for each in (arcs, others))
    entropies, surprises = tree.entropy(), tree.cross_entropy(other)
    slopes = [torch.autograd.grad(each.sum(), arcs)[0] for each in (entropies, surprises)]
    for i in range(2):
        item = arcs[i].detach()
        tolerance = 1e-12 * max(scale, 1.0)
        assert_right(entropies[i].item(), slopes[0][i], exact(item, item, single_root), min(tolerance, 1e-7))
        assert_right(surprises[i].item(), slopes[1][i], exact(item, others[i], single_root), min(tolerance, 1e-7))


@ROOTS
@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_float32_has_the_digits_of_its_scores(scale, single_root):
    arcs = (scale * normal(5, 4, 5)).float()
    found = NonProjectiveTree(arcs, single_root=single_root).entropy()
    for item, value in zip(arcs.double(), found, strict=True):
        assert value.item() == pytest.approx(exact(item, item, single_root)[0], rel=1e-6, abs=1e-37)


@pytest.mark.thinned("scale", "change")
@ROOTS
@pytest.mark.parametrize("change", [unchanged, tied, nested])
@pytest.mark.parametrize("scale", [1.0, 10.0, 100.0])
@pytest.mark.parametrize("n", [9, pytest.param(33, marks=pytest.mark.slow)])
def test_many_words_are_as_in_the_reference(n, scale, change, single_root):
    scores = [(scale * change(normal(6, n, n + 1, seed=seed))).requires_grad_() for seed in (0, 1)]
    answers = []
    for backend in ("cpu", "reference"):
        with dispatch.using(backend):
            tree, other = (NonProjectiveTree(each, lengths(n), single_root) for each in scores)
            values = tree.entropy(), tree.cross_entropy(other)
            answers.append([*values, *torch.autograd.grad(sum(value.sum() for value in values), scores)])
    for mine, theirs in zip(*answers, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-9, atol=1e-10 * scale * n)


@ROOTS
def test_a_batch_is_its_items(single_root):
    arcs, others = (torch.cat([scale * normal(2, 6, 7, seed=seed) for scale in (1.0, 500.0)]) for seed in (0, 1))
    tree, other = (NonProjectiveTree(each, lengths(6)[:4], single_root) for each in (arcs, others))
    for i in range(4):
        n = int(lengths(6)[i])
        alone, other_alone = (
            NonProjectiveTree(each[i, :n, : n + 1], single_root=single_root) for each in (arcs, others)
        )
        assert tree.entropy()[i] == alone.entropy()
        assert tree.cross_entropy(other)[i] == alone.cross_entropy(other_alone)


@ROOTS
def test_what_the_other_forbids_is_infinite_however_improbable(single_root):
    arcs, others = normal(1, 3, 4), normal(1, 3, 4)
    arcs[0, 0, 2] -= 2000
    others[0, 0, 2] = -torch.inf
    tree, other = (NonProjectiveTree(each, single_root=single_root, labelled=False) for each in (arcs, others))
    assert tree.cross_entropy(other).item() == torch.inf
    assert other.cross_entropy(tree).isfinite().all()


@ROOTS
def test_items_without_a_tree_have_entropy_zero(single_root):
    arcs = normal(2, 3, 4)
    nothing = torch.full_like(arcs, -torch.inf)
    tree, impossible = (
        NonProjectiveTree(each, single_root=single_root, labelled=False) for each in (arcs, nothing)
    )
    assert (impossible.entropy() == 0).all()
    assert (impossible.cross_entropy(tree) == 0).all()
    assert (tree.cross_entropy(impossible) == torch.inf).all()
