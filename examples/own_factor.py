"""A factor of your own, from its best assignment and its local score: a highlight that is one run of words."""

import torch

from strukt import FactorGraph
from strukt.factor_graph import Factor, factors


class Run(Factor):
    """The ones stand next to each other, or there are none; starting a run costs a price."""

    def __init__(self, variables, price):
        super().__init__(variables)
        self.price = price

    def map(self, scores):
        places = torch.arange(scores.shape[-1])
        before = torch.nn.functional.pad(scores.cumsum(-1), (1, 0))
        totals = before.unsqueeze(-2) - before.unsqueeze(-1)  # [i, j]: the words from i to before j
        value, run = totals.triu().flatten(1).max(-1, keepdim=True)
        first, last = run // before.shape[-1], run % before.shape[-1]
        return (first <= places) & (places < last) & (value > self.price)

    def score(self, assignments):
        return -self.price * assignments.amax(-1)


if __name__ == "__main__":
    words = ["a", "film", "that", "is", "long", "but", "very", "moving", "and", "very", "clever", "too"]
    scores = torch.tensor([-1, -0.5, -1, -1, 0.8, -1, 0.4, 1.2, 0.1, 0.4, 1.1, -0.6], requires_grad=True)
    price = torch.tensor(1.0, requires_grad=True)

    graph = FactorGraph()
    highlighted = graph.variables(len(words))
    graph.add(Run(highlighted, price))
    graph.add(factors.Budget(highlighted, 4))

    best = graph.enumerate(scores).mode
    print("best:", " ".join(word for word, used in zip(words, best, strict=True) if used))

    result = graph.lp_sparsemap(scores)
    for word, weight in zip(words, result.marginals.tolist(), strict=True):
        print(f"{word:>8} {weight:.2f} {'#' * round(20 * weight)}".rstrip())

    result.marginals[7].backward()  # of "moving"
    print(f"it moves with its own score by {scores.grad[7]:.2f}, with the price by {price.grad:.2f}")
