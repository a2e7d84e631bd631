"""A recursion of your own as a table: foldings of RNA, without pairs that cross."""

import numpy as np
import torch

from strukt import ProgramBuilder, TableStructure


def foldings(n):
    p = ProgramBuilder()
    j, k = np.indices((n, n))
    alone = p.scattered(np.arange(n))                            # weights 0 to n - 1
    pair = p.scattered(np.where(k < j, j * n + k, -1))           # then of [j, k], k < j
    fold, ending = p.cells(n + 1, n + 1), p.cells(n + 1, n + 1)  # [i, j] and [j, i]
    # the last base is alone, or has a partner
    ways = p.cells(n + 1, n + 1, 2)
    post = np.arange(n + 1)
    p.leaf(fold[post, post], ending[post, post])                 # no bases: 1
    i, j = np.triu_indices(n + 1, 1)
    p.sum(ways[i, j, 0], fold[i, j - 1], weight=alone[j - 1], stage=2 * (j - i))
    p.sum(
        fold[i, j], ways[i, j, 0], count=2, mirror=ending[j, i], stage=2 * (j - i) + 1
    )
    i, j = np.triu_indices(n + 1, 2)
    p.sum(
        ways[i, j, 1], fold[i, i], ending[j - 1, i + 1],
        count=j - i - 1, each=pair[j - 1, i], stage=2 * (j - i),
    )  # fmt: skip
    return p.build(fold[0, 1:])


bases = "GCACGACG"
pairs = [(k, j) for j in range(8) for k in range(j)]  # in the order of their weights
scores = [3.0 if {bases[k], bases[j]} == {"G", "C"} else -torch.inf for k, j in pairs]
rna = TableStructure(foldings(8), torch.tensor([0.0] * 8 + scores, requires_grad=True))
best = rna.mode[8:].bool().tolist()
print("pairs:", [pair for pair, used in zip(pairs, best, strict=True) if used])
print(f"entropy {rna.entropy():.4f}")
rna.log_prob(rna.sample()).backward()
