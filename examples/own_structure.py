"""A structure of your own, checked by the laws that strukt's structures obey: tags on a ring.

The last position of a ring is followed by the first: circular DNA, the outline of a shape, the hours of a day.
"""

import itertools

import torch
from torch import Tensor

from strukt.checks import arguments
from strukt.checks.guards import UNBOUNDED
from strukt.kernels.dynamic_program import DynamicProgram
from strukt.kernels.oracles import Oracles
from strukt.kernels.semiring import NEG_INF, Semiring
from strukt.structures.positional import PositionalStructure
from strukt.testing import Subject, Table, check_structure
from strukt.testing.brute_force import choices


def recursion(
    semiring: Semiring, unary: Tensor, transition: Tensor, lengths: Tensor
) -> Tensor:
    """Return the semiring's total over all rings, in O(n c^3).

    ways[i, j] is the total from tag i at position 0 to tag j at position t.
    """
    n, c = unary.shape[-2:]
    beyond = torch.arange(n, device=unary.device) >= lengths.unsqueeze(-1)
    unary = unary.masked_fill(beyond.unsqueeze(-1), 0.0)
    repeats = len(lengths) // max(transition.shape[-3], 1)
    transition = transition.repeat_interleave(repeats, -3)

    elsewhere = unary.new_full((c, c), NEG_INF).fill_diagonal_(0.0)
    first = elsewhere + (unary[..., 0, None, :] if n else unary.sum(-2, keepdim=True))
    ways = semiring.weigh(semiring.one(first), first)
    for t in range(1, n):
        steps = semiring.weigh(ways.unsqueeze(-1), transition.unsqueeze(-3))
        entered = semiring.sum(steps, -2)
        further = semiring.weigh(entered, unary[..., t, None, :])
        ways = torch.where((t < lengths)[:, None, None], further, ways)

    closed = semiring.weigh(ways, transition.mT)
    total = semiring.sum(semiring.sum(closed, -1), -1)
    return torch.where(lengths > 0, total, semiring.one(unary.sum((-2, -1))))


class Ring(PositionalStructure):
    """Tags on a ring; the tag of a single position is followed by itself.

    Args:
        unary: `(*, n, c)`, the score of each tag at each position.
        transition: `(c, c)` or `(*, c, c)`, `[i, j]` scores tag i followed by tag j.
        lengths: `*`; all n if None.
        validate_args: Whether to check values as well as shapes.

    Events are tags `(*, n)`, -1 beyond the length.
    """

    score_names = ("unary", "transition")
    oracles = Oracles("ring", score_names, (), DynamicProgram(recursion, count=2))
    extents = ([0, UNBOUNDED], [UNBOUNDED, UNBOUNDED])

    def __init__(self, unary, transition, lengths=None, validate_args=None):
        arguments.scores("unary", unary, "(*, n, c)", 2)
        arguments.scores("transition", transition, "(c, c) or (*, c, c)", 2)
        *batch, _, c = unary.shape
        arguments.fitting("transition", transition, torch.Size([*batch, c, c]))
        scores = (unary, transition.expand(*batch, c, c))
        super().__init__(scores, lengths, (), validate_args)

    def _are_structures(self, event):
        return self._in_range(event)

    def _places(self, event):
        c = self.scores[0].shape[-1]
        tags = event.clamp(0, c - 1)
        following = torch.arange(1, tags.shape[-1] + 1, device=event.device)
        following = torch.where(following < self.lengths.unsqueeze(-1), following, 0)
        pairs = tags * c + tags.gather(-1, following.expand_as(tags))
        return (*super()._places(event), torch.where(self._positions, pairs, -1))


def every_ring(length: int, unary: Tensor, transition: Tensor) -> Table:
    """All tag sequences of one item, each with its score."""
    n, c = unary.shape
    events, parts = choices(list(itertools.product(range(c), repeat=length)), n, c)
    tags = events[:, :length]
    own = unary.double()[torch.arange(length), tags].sum(-1)
    steps = transition.double()[tags, tags.roll(-1, dims=-1)].sum(-1)
    return Table(events, parts, own + steps)


def draw(
    generator: torch.Generator, batch_shape: tuple[int, ...], size: int
) -> tuple[Tensor, Tensor]:
    """Random scores of three tags; items share their transitions."""
    unary = torch.randn(*batch_shape, size, 3, generator=generator, dtype=torch.float64)
    return unary, torch.randn(3, 3, generator=generator, dtype=torch.float64)


SUBJECT = Subject("Ring", Ring, every_ring, draw, {"unary": 2, "transition": 2})

if __name__ == "__main__":
    transition = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    ring = Ring(torch.zeros(12, 2), transition)
    # Ising's model on a ring
    known = torch.linalg.matrix_power(transition.exp(), 12).trace().log()
    print(f"log-partition {ring.log_partition:.4f}, by the transfer matrix {known:.4f}")

    night = torch.cos((torch.arange(24) - 2.5) * torch.pi / 12)  # highest at 2:30
    day = Ring(torch.stack([-night, night], -1), transition)
    print("awake or asleep:", "".join("wz"[tag] for tag in day.mode.tolist()))
    print(f"asleep at midnight: {day.marginals[0, 1]:.2f}")

    check_structure(SUBJECT)
    print("a ring keeps every law")
