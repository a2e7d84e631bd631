"""Latent dependency trees: a scorer that needs no annotated trees, trees with budgets, and fixed trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import torch
from torch import Tensor, nn

from strukt.checks import arguments, guards
from strukt.checks.guards import within
from strukt.checks.lengths import Lengths
from strukt.distributions import NonProjectiveTree
from strukt.factor_graph import FactorGraph, factors
from strukt.factor_graph.linear_program import Relaxation
from strukt.kernels.semiring import NEG_INF
from strukt.nn.biaffine import Biaffine
from strukt.nn.encoders import mask_of
from strukt.nn.inputs import precise, require_sizes
from strukt.nn.tree_gcn import nodes_of
from strukt.structures.tree_budgets import BudgetedTrees, require_batch_of_arcs, sparsemap_within_budget


class TreeScorer(nn.Module):
    """A biaffine scorer from word vectors to a distribution over non-projective dependency trees.

    Args:
        size: Size of the word vectors.
        arc_size: Size of the vectors that are compared to score an arc.
        single_root: Whether exactly one word is attached to the root; if False, one or more are.

    Raises:
        ValueError: If a size is less than 1.

    Examples:
        >>> trees = TreeScorer(8, 4)(torch.randn(2, 5, 8), torch.tensor([5, 3]))
        >>> trees.mode.shape
        torch.Size([2, 5])
    """

    def __init__(self, size: int, arc_size: int, single_root: bool = True) -> None:
        super().__init__()
        require_sizes(size=size, arc_size=arc_size)
        self.single_root = single_root
        self.root = nn.Parameter(torch.zeros(size))
        self.dependent = nn.Linear(size, arc_size)
        self.head = nn.Linear(size, arc_size)
        self.score = Biaffine(arc_size, arc_size, 1)
        # If all trees have equal scores, SparseMAP selects hundreds of them, and training prefers none.
        nn.init.normal_(self.score.weight)

    def forward(self, vectors: Tensor, lengths: Lengths | None = None) -> NonProjectiveTree:
        """Return the distribution over trees, in float64 for vectors in float64, and in float32 for all others.

        Args:
            vectors: ``(batch, n, size)``; padding is ignored.
            lengths: ``(batch,)``; all n if None.

        Raises:
            ValueError: If a shape is wrong, a length is not between 0 and n, or a score is NaN.
        """
        nodes = nodes_of(self.root.to(vectors.dtype), vectors, lengths)
        arcs = self.score(self.dependent(nodes[:, 1:]).tanh(), self.head(nodes).tanh()).squeeze(-1)
        return NonProjectiveTree(precise(arcs), lengths, self.single_root, labelled=False)


def with_budget(
    trees: NonProjectiveTree, budget: int, iterations: int | None = None
) -> BudgetedTrees | Relaxation:
    """Return LP-SparseMAP over trees in which no head, including the root, exceeds a budget of dependents.

    The budget limits the number of dependents in the soft tree: the sum of the marginals of the arcs from a head.
    A network reads the ``marginals`` of the result, ``(batch, n, n + 1)``, as one soft tree. Source: Niculae and
    Martins (2020), "LP-SparseMAP: Differentiable relaxed optimization for sparse structured prediction", section
    5.1.

    Args:
        trees: The distribution over all trees, with one batch axis.
        budget: Maximum number of dependents of a head.
        iterations: None for the exact solution. Otherwise the maximum number of iterations on a factor graph,
            after which the result may not yet be a tree within the budget; the published models use 10. This is
            slower, and the choice of arcs with non-zero marginals then depends slightly on the rest of the batch.

    Words in the padding have no head and no dependents, and no word is its own head.

    Raises:
        ValueError: If `budget` is not a whole number above 0, `iterations` is less than 1, or the trees have
            labels or other batch axes.
        InfeasibleError: If `iterations` is None, and every tree of some item is forbidden.

    Warns:
        UserWarning: If `iterations` is None, and the trees of some item do not meet the budget.

    Examples:
        >>> arcs = torch.zeros(1, 3, 4)
        >>> arcs[0, :, 1] = 3.0
        >>> NonProjectiveTree(arcs).sparsemap().marginals[0, :, 1].sum()
        tensor(2.)
        >>> with_budget(NonProjectiveTree(arcs), 1).marginals[0, :, 1].sum()
        tensor(1.)
    """
    require_sizes(budget=budget)
    if iterations is None:
        return sparsemap_within_budget(trees, budget)
    require_batch_of_arcs(trees)
    arcs = _possible(trees.scores[0], trees.lengths)
    graph = FactorGraph()
    variables = graph.variables(*arcs.shape[1:])
    graph.add(
        factors.Structure(
            variables, lambda scores: NonProjectiveTree(scores, trees.lengths, trees.single_root)
        )
    )
    for of_head in variables.T:
        graph.add(factors.Budget(of_head, budget))
    return graph.lp_sparsemap(arcs, max_iterations=iterations)


def _possible(arcs: Tensor, lengths: Tensor) -> Tensor:
    """Set the scores of arcs in the padding, and of words to themselves, to -inf.

    No iterations are then spent on ruling them out.
    """
    heads = torch.arange(arcs.shape[2], device=arcs.device)
    to_itself = heads[1:].unsqueeze(1) == heads
    return arcs.masked_fill(~within(lengths, arcs.shape[1:], [0, 1]) | to_itself, NEG_INF)


class FixedTrees(NamedTuple):
    """Fixed trees in the form that the estimator `strukt.nn.estimators.Marginals` reads.

    Attributes:
        marginals: ``(batch, n, n + 1)``, 0 or 1; ``[m, h]`` is 1 if h is the head of word m + 1, where h = 0 is
            the root. All entries are 0 in the padding.
    """

    marginals: Tensor

    @classmethod
    def of_heads(cls, heads: Tensor, dtype: torch.dtype = torch.float32) -> FixedTrees:
        """Return the trees in which words have these heads.

        Args:
            heads: ``(batch, n)``, the head of each word counted from 1, 0 for the root, and -1 in the padding.
            dtype: The type of the marginals, that of the vectors which a network reads.

        Raises:
            ValueError: If the shape or the type is wrong, or a head is not from -1 to n. Whether the heads form a
                tree is not checked.

        Examples:
            >>> FixedTrees.of_heads(torch.tensor([[0, 1], [0, -1]])).marginals
            tensor([[[1., 0., 0.],
                     [0., 1., 0.]],
            <BLANKLINE>
                    [[1., 0., 0.],
                     [0., 0., 0.]]])
        """
        arguments.integers("heads", heads, "(batch, n)", getattr(heads, "device", torch.device("cpu")))
        if heads.dim() != 2:
            raise ValueError(f"heads has shape {tuple(heads.shape)}; expected (batch, n)")
        n = heads.shape[1]
        valid = (heads >= -1) & (heads <= n)
        guards.require_values(heads, valid, "heads", f"0 for the root, 1 to {n} for words, or -1 in the padding")
        candidates = torch.arange(n + 1, device=heads.device)
        return cls((heads.unsqueeze(-1) == candidates).to(dtype))


def flat(lengths: Tensor, longest: int) -> Tensor:
    """Return heads of trees in which every word is attached to the root, ``(batch, longest)``, padded with -1.

    Args:
        lengths: ``(batch,)``.
        longest: The number of columns, at least the largest length.

    Raises:
        ValueError: If the lengths are not a row of whole numbers from 0 to ``longest``.

    Examples:
        >>> flat(torch.tensor([3, 2]), 3)
        tensor([[ 0,  0,  0],
                [ 0,  0, -1]])
    """
    return _heads(lengths, longest, lambda words, _: torch.zeros_like(words))


def left_to_right(lengths: Tensor, longest: int) -> Tensor:
    """Return heads of left-to-right trees: the head of each word is the word after it, ``(batch, longest)``.

    The head of the last word is the root. A network that reads trees from the leaves to the root reads such a tree
    from the first word to the last. The padding is -1.

    Args:
        lengths: ``(batch,)``.
        longest: The number of columns, at least the largest length.

    Raises:
        ValueError: If the lengths are not a row of whole numbers from 0 to ``longest``.

    Examples:
        >>> left_to_right(torch.tensor([3, 2]), 3)
        tensor([[ 2,  3,  0],
                [ 2,  0, -1]])
    """
    return _heads(lengths, longest, lambda words, last: torch.where(words == last, 0, words + 1))


def right_branching(lengths: Tensor, longest: int) -> Tensor:
    """Return heads of right-branching trees: the head of each word is the word before it, ``(batch, longest)``.

    The head of the first word is the root. The padding is -1.

    Args:
        lengths: ``(batch,)``.
        longest: The number of columns, at least the largest length.

    Raises:
        ValueError: If the lengths are not a row of whole numbers from 0 to ``longest``.

    Examples:
        >>> right_branching(torch.tensor([3, 2]), 3)
        tensor([[ 0,  1,  2],
                [ 0,  1, -1]])
    """
    return _heads(lengths, longest, lambda words, _: words - 1)


FIXED: Mapping[str, Callable[[Tensor, int], Tensor]] = MappingProxyType(
    {"flat": flat, "left-to-right": left_to_right, "right-branching": right_branching}
)
"""Functions that return trees which depend only on the lengths of sentences, by name; see `flat`."""


def _heads(lengths: Tensor, longest: int, head_of: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """Return heads ``(batch, longest)``, -1 in the padding.

    `head_of` maps the indices of words, counted from 1, and that of the last word of each sentence to heads.
    """
    device = getattr(lengths, "device", torch.device("cpu"))
    lengths = arguments.lengths(lengths, torch.Size([len(lengths)]), longest, device)
    words = torch.arange(1, longest + 1, device=device).expand(len(lengths), -1)
    return head_of(words, lengths.unsqueeze(-1)).masked_fill(~mask_of(lengths, longest), -1)
