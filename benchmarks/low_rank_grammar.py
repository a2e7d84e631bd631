"""Context-free grammars of rank r, shared by all sentences, with s nonterminals and p preterminals.

Inputs are the logits of roots `(s,)`, of left and right children `(r, s + p)`, of the ranks of nonterminals
`(s, r)`, and scores of words `(batch, n, p)`. The recursion of *torch* over ranks is that of Yang, Liu and Tu
(2022), whose code is not on the package index; autograd differentiates the loop.
"""

from __future__ import annotations

import torch
from torch import Tensor

from benchmarks.contest import Case, Contestant, Family, forward, gradient

TINY = 1e-9
"""The number that the published code adds to sums before it takes their logarithms."""


def strukt_log_partition(root: Tensor, left: Tensor, right: Tensor, head: Tensor, emission: Tensor) -> Tensor:
    from strukt.distributions import LowRankPCFG

    rules = (table.log_softmax(1) for table in (left, right, head))
    return LowRankPCFG(root.log_softmax(0), *rules, emission, validate_args=False).log_partition


def torch_log_partition(root: Tensor, left: Tensor, right: Tensor, head: Tensor, emission: Tensor) -> Tensor:
    """Return log-partitions by the inside recursion over ranks in PyTorch."""
    n, s = emission.shape[1], len(head)
    children = torch.stack([left.softmax(1), right.softmax(1)])
    ranks = head.softmax(1)
    passed = torch.einsum("hrs,sq->hqr", children[:, :, :s], ranks)
    top = emission.amax(2, keepdim=True)
    words = torch.einsum("bnp,hrp->hbnr", (emission - top).exp(), children[:, :, s:])
    # The values of spans, by length: as a left child by the first word, and as a right child by the last word.
    rows = [[cell] for cell in ((words[0] + TINY).log() + top).unbind(1)]
    columns = [[cell] for cell in ((words[1] + TINY).log() + top).unbind(1)]
    for width in range(2, n + 1):
        starts = range(n - width + 1)
        lefts = torch.stack([torch.stack(rows[i], 1) for i in starts], 1)
        rights = torch.stack([torch.stack(columns[i + width - 1][::-1], 1) for i in starts], 1)
        pairs = lefts + rights
        top = pairs.amax((2, 3))[..., None]
        spans = (pairs - top[..., None]).exp().sum(2)
        if width == n:
            weights = (spans[:, 0] @ ranks.mT) @ root.softmax(0)
            return weights.log() + top[:, 0, 0]
        around = torch.einsum("bir,hrq->hbiq", spans, passed)
        values = (around + TINY).log() + top
        for i in starts:
            rows[i].append(values[0, :, i])
            columns[i + width - 1].append(values[1, :, i])
    raise ValueError("a sentence has at least two words")


def case(batch: int, words: int, nonterminals: int, preterminals: int, rank: int) -> Case:
    symbols = nonterminals + preterminals
    tables = ((rank, symbols), (rank, symbols), (nonterminals, rank))
    shapes = ((nonterminals,), *tables, (batch, words, preterminals))
    return Case(f"{batch}x{words}, {nonterminals:,}+{preterminals:,} symbols, rank {rank:,}", shapes)


FAMILY = Family(
    name="low-rank-pcfg",
    title="Context-free grammar of low rank (batch x words, nonterminals + preterminals)",
    cases=(case(4, 30, 100, 200, 200), case(4, 30, 1000, 2000, 1000)),
    warm_up=case(2, 4, 3, 4, 2),
    contestants=(Contestant("strukt", strukt_log_partition), Contestant("torch", torch_log_partition)),
    operations={"log-partition": forward, "gradient": gradient},
)
