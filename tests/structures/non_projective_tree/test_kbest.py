"""The k best trees: equal to enumeration, and the second best of many words equal to the best without some arc."""

import pytest
import torch
from tests.kernels.test_backends import normal, steep, unchanged
from tests.structures.test_kbest_trees import sparse, tied
from torch import Tensor

from strukt.distributions import NonProjectiveTree
from strukt.testing import brute_force

ROOTS = pytest.mark.parametrize("single_root", [True, False], ids=["single root", "any root"])


def nested(scores: Tensor) -> Tensor:
    """Words pull at each other in pairs, less in pairs of pairs, and so on: cycles of cycles are contracted."""
    positions = torch.arange(scores.shape[-1])
    apart = (positions[1:, None] - 1).bitwise_xor(positions - 1).clamp(min=1).double().log2().floor()
    return scores - 10 * apart


CHANGES = pytest.mark.parametrize("change", [unchanged, steep, sparse, tied, nested])


@pytest.mark.thinned("n", "change")
@ROOTS
@CHANGES
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_the_k_best_are_those_of_enumeration(n, change, single_root):
    arcs = change(normal(8, n, n + 1))
    for k in (1, 2, 7, 60):
        scores, events = NonProjectiveTree(arcs, single_root=single_root).topk(k)
        for item, found, trees in zip(arcs, scores, events, strict=True):
            table = brute_force.non_projective_tree(n, item, single_root)
            assert torch.allclose(found, table.topk(k)[0])
            trees = trees[found > -torch.inf]
            assert len(trees.unique(dim=0)) == len(trees)
            assert all(table.find(tree).any() for tree in trees)


@ROOTS
@CHANGES
@pytest.mark.parametrize("n", [9, 24])
def test_the_second_best_is_the_best_without_an_arc_of_the_best(n, change, single_root):
    arcs = change(normal(4, n, n + 1))
    scores, events = NonProjectiveTree(arcs, single_root=single_root).topk(2)
    without = torch.full((4, n), -torch.inf, dtype=torch.float64)
    for word in range(n):
        forbidden = arcs.clone()
        forbidden[torch.arange(4), word, events[:, 0, word]] = -torch.inf
        without[:, word] = NonProjectiveTree(forbidden, single_root=single_root).topk(1)[0][:, 0]
    assert torch.allclose(scores[:, 1], without.max(-1).values)


@pytest.mark.parametrize("n", [3, 9])
def test_k_best_of_words_that_can_only_hang_on_the_root(n):
    arcs = torch.full((1, n, n + 1), -torch.inf, dtype=torch.float64)
    arcs[:, :, 0] = 1.0
    assert NonProjectiveTree(arcs, single_root=False).topk(2)[0].tolist() == [[n, -torch.inf]]
    assert NonProjectiveTree(arcs).topk(2)[0].tolist() == [[-torch.inf, -torch.inf]]
