"""A factor of your own, from its best assignment and its local score: a highlight that is one run of words."""

import torch

from strukt import FactorGraph
from strukt.factor_graph import Factor, factors


class Run(Factor):
    """The ones form one run, or there are none; starting a run costs a price."""

    def __init__(self, variables, price):
        super().__init__(variables)
        self.price = price

    def map(self, scores):
        places = torch.arange(scores.shape[-1])
        before = torch.nn.functional.pad(scores.cumsum(-1), (1, 0))
        # [i, j]: the words from i to before j
        totals = before.unsqueeze(-2) - before.unsqueeze(-1)
        value, run = totals.triu().flatten(1).max(-1, keepdim=True)
        first, last = run // before.shape[-1], run % before.shape[-1]
        return (first <= places) & (places < last) & (value > self.price)

    def score(self, assignments):
        return -self.price * assignments.amax(-1)


if __name__ == "__main__":
    text = "a film that is long but very moving and very clever too"
    words = text.split()
    scores = torch.tensor([-1, -0.5, -1, -1, 0.8, -1, 0.4, 1.2, 0.1, 0.4, 1.1, -0.6])
    scores.requires_grad_()
    price = torch.tensor(1.0, requires_grad=True)

    graph = FactorGraph()
    highlighted = graph.variables(len(words))
    graph.add(Run(highlighted, price))
    graph.add(factors.Budget(highlighted, 4))

    best = graph.enumerate(scores).mode
    print("best:", *[word for word, used in zip(words, best, strict=True) if used])

    result = graph.lp_sparsemap(scores)
    for word, weight in zip(words, result.marginals.tolist(), strict=True):
        print(f"{word:>8} {weight:.2f} {'#' * round(20 * weight)}".rstrip())

    result.marginals[7].backward()  # of "moving"
    print(f"derivatives: {scores.grad[7]:.2f} by score, {price.grad:.2f} by price")
