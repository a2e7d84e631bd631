"""A distribution over trees knows more than its best tree: marginals, alternatives, constraints."""

import torch

from strukt import NonProjectiveTree
from strukt.viz import Diagram
from strukt.viz.terminal import draw

words = ["She", "saw", "stars", "with", "telescopes"]
arcs = torch.full((5, 6), -4.0, dtype=torch.float64)  # [word, head]; head 0 is the root
for word, head, score in [(1, 2, 2.0), (2, 0, 2.0), (3, 2, 2.0), (4, 5, 2.0), (5, 2, 0.6), (5, 3, 0.4)]:
    arcs[word - 1, head] = score
trees = NonProjectiveTree(arcs)

heads = trees.mode
probabilities = trees.marginals.gather(-1, heads.unsqueeze(-1)).squeeze(-1)
print(draw(Diagram(words, heads=heads.tolist(), head_probabilities=probabilities.tolist())))

print(f"\nentropy {trees.entropy().item():.2f} nats; the two best trees:")
best = trees.topk(2)
for prob, event in zip(best.probs, best.events, strict=True):
    print(f"  {prob.item():.2f}", event.tolist())

stars_have_telescopes = torch.zeros(5, 6, dtype=torch.bool)
stars_have_telescopes[4, 3] = True
print(
    "given that the stars have the telescopes:", trees.condition(required=stars_have_telescopes).mode.tolist()
)
