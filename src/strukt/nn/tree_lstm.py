"""The child-sum Tree-LSTM, which reads dependency trees from the leaves to the root."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from strukt.checks.lengths import Lengths
from strukt.nn.encoders import mask_of
from strukt.nn.inputs import require_sizes
from strukt.nn.tree_gcn import arcs_within, nodes_of


class TreeStates(NamedTuple):
    """The states of the nodes of trees.

    Attributes:
        words: `(batch, n, hidden)`, the state of the subtree of each word; zero in the padding.
        root: `(batch, hidden)`, the state of the whole tree.
    """

    words: Tensor
    root: Tensor


class ChildSumTreeLSTM(nn.Module):
    """The child-sum Tree-LSTM over dependency trees.

    A word j with vector x_j reads the sum of the states h_k of its dependents k. Each dependent has its own forget
    gate f_k, for its cell c_k.

        s = sum_k h_k                             over the dependents k of word j
        i = sigmoid(W_i x_j + U_i s + b_i)        o = sigmoid(W_o x_j + U_o s + b_o)
        u = tanh(W_u x_j + U_u s + b_u)           f_k = sigmoid(W_f x_j + U_f h_k + b_f)
        c_j = i u + sum_k f_k c_k                 h_j = o tanh(c_j)

    The root has a learned vector instead of x_j, and its dependents are the words with head 0, of which there may
    be several. The states h_k and c_k of a dependent are multiplied by the value of its arc. This value is 1 in a
    tree and changes nothing, but it carries gradients to the arcs of the tree, for estimators that pass them on to
    scores; the gradient of all other arcs is 0.

    Source: Tai, Socher and Manning (2015), "Improved semantic representations from tree-structured long short-term
    memory networks", equations 2 to 8.

    Args:
        size: Size of the input vectors.
        hidden: Size of the states.

    Raises:
        ValueError: If a size is less than 1.

    Examples:
        >>> from strukt.distributions import NonProjectiveTree
        >>> lengths = torch.tensor([5, 3])
        >>> trees = NonProjectiveTree(torch.randn(2, 5, 6), lengths)
        >>> states = ChildSumTreeLSTM(8, 16)(torch.randn(2, 5, 8), trees.to_parts(trees.mode), lengths)
        >>> states.words.shape, states.root.shape
        (torch.Size([2, 5, 16]), torch.Size([2, 16]))
    """

    def __init__(self, size: int, hidden: int) -> None:
        super().__init__()
        require_sizes(size=size, hidden=hidden)
        self.hidden = hidden
        self.root = nn.Parameter(torch.zeros(size))
        self.inputs = nn.Linear(size, 4 * hidden)  # W of f, i, o and u, stacked
        self.forget = nn.Linear(hidden, hidden, bias=False)  # U_f
        self.gates = nn.Linear(hidden, 3 * hidden, bias=False)  # U of i, o and u
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw an orthogonal matrix for each gate; forget gates start open, as in `strukt.nn.LSTM`."""
        for layer in (self.inputs, self.forget, self.gates):
            for gate in torch.split(layer.weight, self.hidden):
                nn.init.orthogonal_(gate)
        self.inputs.bias.zero_()
        self.inputs.bias[: self.hidden] = 1

    def forward(self, vectors: Tensor, arcs: Tensor, lengths: Lengths | None = None) -> TreeStates:
        """Encode a batch of trees, in time O(n (n + size hidden + hidden^2)) for each item.

        The number of sequential steps is the number of levels of the deepest tree.

        Args:
            vectors: `(batch, n, size)`; padding is ignored.
            arcs: `(batch, n, n + 1)`, 1 at `[m, h]` if h is the head of word m + 1, else 0; h = 0 is the root.
            lengths: `(batch,)`; all n if None.

        Returns:
            The states of the words and of the root; a tree without words consists of the root only.

        Raises:
            ValueError: If a shape is wrong, a length is not between 0 and n, or the arcs are not a tree.
        """
        return self.read(self.project(vectors, lengths), arcs, lengths)

    def project(self, vectors: Tensor, lengths: Lengths | None = None) -> Tensor:
        """Compute the part that does not depend on the arcs, once for all trees of a sentence.

        Args:
            vectors: `(batch, n, size)`; padding is ignored.
            lengths: `(batch,)`; all n if None.

        Returns:
            W x + b of f, i, o and u, for the root and the words: `(batch, n + 1, 4 hidden)`.

        Raises:
            ValueError: If a shape is wrong, or a length is not between 0 and n.
        """
        projected: Tensor = self.inputs(nodes_of(self.root, vectors, lengths))
        return projected

    def read(self, projected: Tensor, arcs: Tensor, lengths: Lengths | None = None) -> TreeStates:
        """Return the result of `forward`, given the result of `project`.

        Args:
            projected: `(batch, n + 1, 4 hidden)`.
            arcs: `(batch, n, n + 1)`; see `forward`.
            lengths: `(batch,)`; all n if None.

        Raises:
            ValueError: If a shape is wrong, a length is not between 0 and n, or the arcs are not a tree.
        """
        arcs, lengths = arcs_within(projected, arcs, lengths, 4 * self.hidden)
        heads = _heads(arcs, lengths)
        levels = _levels(heads, lengths)
        values = functional.pad(arcs.gather(2, heads.unsqueeze(-1)), (0, 0, 1, 0)).flatten(0, 1)
        nodes = projected.flatten(0, 1)
        inputs = nodes.index_select(0, levels.nodes)

        nothing = inputs.new_zeros(0, self.hidden)
        below = _Dependents(nothing, nothing, levels.places[:0])
        states = []
        of_levels = (
            torch.split(rows, levels.sizes)
            for rows in (inputs, values.index_select(0, levels.nodes), levels.places)
        )
        for here, weights, places in zip(*of_levels, strict=True):
            hidden, cell = self._read(here, below)
            below = _Dependents(hidden * weights, cell * weights, places)
            states.append(hidden)

        in_order = torch.cat(states)
        of_nodes = in_order.new_zeros(len(nodes), self.hidden).index_copy(0, levels.nodes, in_order)
        result = of_nodes.view(*arcs.shape[::2], self.hidden)
        return TreeStates(result[:, 1:], result[:, 0])

    def _read(self, inputs: Tensor, below: _Dependents) -> tuple[Tensor, Tensor]:
        """Return the states and cells of a level from its projected vectors and the level below."""
        forget_inputs, gate_inputs = torch.split(inputs, [self.hidden, 3 * self.hidden], -1)
        gates = gate_inputs + self.gates(below.sums(below.hidden, len(inputs)))
        i, o, u = gates.chunk(3, -1)
        f = (forget_inputs.index_select(0, below.heads) + self.forget(below.hidden)).sigmoid()
        cell = i.sigmoid() * u.tanh() + below.sums(f * below.cell, len(inputs))
        return o.sigmoid() * cell.tanh(), cell


class _Dependents(NamedTuple):
    """The nodes of the level below the current one.

    Attributes:
        hidden: `(k, hidden)`, the states, multiplied by the values of arcs.
        cell: `(k, hidden)`, the cells, multiplied by the values of arcs.
        heads: `(k,)`, the index of each head within the current level.
    """

    hidden: Tensor
    cell: Tensor
    heads: Tensor

    def sums(self, terms: Tensor, size: int) -> Tensor:
        """Return the sums of terms `(k, hidden)` over the dependents of each head: `(size, hidden)`."""
        return terms.new_zeros(size, terms.shape[1]).index_add(0, self.heads, terms)


class _Levels(NamedTuple):
    """The order in which nodes are computed: the deepest first, the roots last.

    Attributes:
        nodes: `(k,)`, indices in the flat order of `(batch, n + 1)`, where the root comes before the words.
        places: `(k,)`, for each node the index of its head within the level above.
        sizes: The number of nodes on each level.
    """

    nodes: Tensor
    places: Tensor
    sizes: list[int]


def _levels(heads: Tensor, lengths: Tensor) -> _Levels:
    """Return the nodes of all trees by level; raise ValueError if a word does not reach the root."""
    batch, n = heads.shape
    above = functional.pad(heads, (1, 0))
    depths = _depths(above).masked_fill(~mask_of(lengths + 1, n + 1), -1)
    _require_trees(depths, heads, lengths)
    # Stable, so that the nodes of an item have the same order in any batch. Padding comes last.
    depths, nodes = depths.flatten().sort(descending=True, stable=True)
    counts = (depths + 1).bincount(minlength=2).flip(0)
    firsts = (counts.cumsum(0) - counts).repeat_interleave(counts)
    places = torch.empty_like(nodes)
    places[nodes] = torch.arange(len(nodes), device=nodes.device) - firsts
    places = places.view(batch, n + 1).gather(1, above).flatten()
    *sizes, padding = counts.tolist()
    nodes = nodes[: len(nodes) - padding]
    return _Levels(nodes, places[nodes], sizes)


def _depths(above: Tensor) -> Tensor:
    """Return the distance of each node from the root, by pointer doubling; above n if it does not reach the root.

    Examples:
        >>> _depths(torch.tensor([[0, 2, 0, 2], [0, 2, 1, 2]]))
        tensor([[0, 2, 1, 2],
                [0, 4, 4, 4]])
    """
    depths = torch.ones_like(above)
    depths[:, 0] = 0
    for _ in range((above.shape[1] - 1).bit_length()):
        depths = depths + depths.gather(1, above)
        above = above.gather(1, above)
    return depths


def _heads(arcs: Tensor, lengths: Tensor) -> Tensor:
    """Return the head of each word, `(batch, n)`, 0 in the padding; raise ValueError unless it has exactly one."""
    used = arcs != 0
    counts = used.sum(-1)
    wrong = (counts != 1) & mask_of(lengths, arcs.shape[1])
    if bool(wrong.any()):
        item, word = wrong.nonzero()[0].tolist()
        raise ValueError(
            f"arcs has {counts[item, word].item()} heads of non-zero value for word {word + 1} of batch item "
            f"{item}, among the root and its words; expected one head for each word, as returned by "
            "trees.to_parts(trees.mode); for soft arcs, such as marginals, use TreeGCN"
        )
    return used.byte().argmax(-1)


def _require_trees(depths: Tensor, heads: Tensor, lengths: Tensor) -> None:
    wrong = depths > heads.shape[1]
    if bool(wrong.any()):
        item, word = wrong.nonzero()[0].tolist()
        raise ValueError(
            f"the arcs of batch item {item} are not a tree: word {word} does not reach the root, because there is "
            f"a cycle in the heads {heads[item, : lengths[item]].tolist()}"
        )
