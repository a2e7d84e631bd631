"""Max-marginals of non-projective trees: equal to enumeration, and of many words to the best trees with an arc."""

import pytest
import torch
from tests.kernels.test_backends import normal, steep, unchanged
from tests.structures.non_projective_tree.test_kbest import CHANGES, ROOTS, nested
from tests.structures.test_kbest_trees import lengths, sparse, tied
from torch import Tensor

from strukt.distributions import NonProjectiveTree
from strukt.kernels import dispatch
from strukt.testing import brute_force

BACKENDS = pytest.mark.parametrize("backend", ["cpu", "reference"])


def last_head_is_root(scores: Tensor) -> Tensor:
    """Words lean to the left, so that one word has no head but the root."""
    positions = torch.arange(scores.shape[-1])
    return scores.masked_fill(positions > positions[1:, None], -torch.inf)


def requiring(tree: NonProjectiveTree) -> Tensor:
    """Each found as the mode of what is left of the other heads of a word."""
    n = tree.event_shape[0]
    best = []
    for word in range(n):
        for head in range(n + 1):
            required = torch.zeros(n, n + 1, dtype=torch.bool)
            required[word, head] = True
            best.append(tree.condition(required.expand(tree.scores[0].shape)).max_score)
    found = torch.stack(best, -1).reshape(tree.scores[0].shape)
    words, heads = torch.arange(n)[:, None], torch.arange(n + 1)
    within = (words < tree.lengths[:, None, None]) & (heads <= tree.lengths[:, None, None])
    return torch.where(within, found, -torch.inf)


@pytest.mark.thinned("n", "change")
@ROOTS
@BACKENDS
@pytest.mark.parametrize("change", [unchanged, steep, sparse, tied, nested, last_head_is_root])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_max_marginals_are_those_of_enumeration(n, change, backend, single_root):
    arcs = change(normal(8, n, n + 1))
    with dispatch.using(backend):
        found = NonProjectiveTree(arcs, single_root=single_root).max_marginals
    tables = [brute_force.non_projective_tree(n, item, single_root).max_marginals for item in arcs]
    expected = torch.stack(tables)
    assert torch.equal(found == -torch.inf, expected == -torch.inf)
    scale = arcs[arcs > -torch.inf].abs().max().item()
    torch.testing.assert_close(found, expected, rtol=1e-13, atol=1e-13 * scale)


@pytest.mark.thinned("change", "backend")
@ROOTS
@BACKENDS
@CHANGES
@pytest.mark.parametrize("n", [7, 13])
def test_max_marginals_are_scores_of_the_best_trees_with_an_arc(n, change, backend, single_root):
    tree = NonProjectiveTree(change(normal(6, n, n + 1)), lengths(n), single_root)
    with dispatch.using(backend):
        found = tree.max_marginals
    scale = tree.scores[0][tree.scores[0] > -torch.inf].abs().max().item()
    torch.testing.assert_close(found, requiring(tree), rtol=1e-13, atol=1e-13 * n * scale)


@ROOTS
def test_the_gradient_is_the_tree(single_root):
    arcs = normal(4, 5).requires_grad_()
    tree = NonProjectiveTree(arcs, single_root=single_root)
    (gradient,) = torch.autograd.grad(tree.max_marginals[2, 4], arcs)
    assert gradient[2, 4] == 1
    assert torch.equal(gradient.sum(-1), torch.ones(4, dtype=torch.float64))
    assert (gradient * arcs).sum().isclose(tree.max_marginals[2, 4])
