"""A linear-chain CRF learns a rule that depends on all earlier bits: the parity of the bits so far.

A classifier of single bits cannot learn this rule. The transitions of a chain carry the parity along. The chain is
trained on short sequences and applied to a long one.
"""

import torch

from strukt import LinearChain

torch.manual_seed(0)
# A tag is the pair (parity so far, this bit), so that the parity passes from one position to the next.
bits = torch.randint(2, (256, 12))
tags = 2 * (bits.cumsum(-1) % 2) + bits

emission = torch.zeros(2, 4, requires_grad=True)  # score of each tag given the bit
transition = torch.zeros(4, 4, requires_grad=True)
start = torch.zeros(4, requires_grad=True)
optimizer = torch.optim.Adam([emission, transition, start], lr=0.3)


def chain(bits: torch.Tensor) -> LinearChain:
    """The distribution over tag sequences for given bits."""
    unary = emission[bits]
    first = torch.arange(bits.shape[-1]).unsqueeze(-1) == 0
    return LinearChain(unary + first * start, transition)


for _ in range(40):
    loss = -chain(bits).log_prob(tags).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

long = torch.randint(2, (1, 500))
parity = long.cumsum(-1) % 2
accuracy = (chain(long).mode // 2 == parity).float().mean()
print(f"loss {loss.item():.4f}")
print(f"parity right on {accuracy.item():.1%} of a sequence of 500 bits")
