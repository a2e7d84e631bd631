"""The kernels of chains for GPUs answer as those for CPUs do; without a GPU they run in Triton's interpreter."""

import pytest
import torch
from tests.kernels.engine.gpu.device import DEVICE, ON_GPU, SLOW, by_kernels, needed
from tests.structures.linear_chain.gpu_answers import agree, chain

from strukt import LinearChain
from strukt.kernels import dispatch

pytestmark = needed

PACKAGE = "strukt.structures.linear_chain"


@pytest.mark.parametrize(
    ("n", "c", "kind"),
    [
        (1, 1, "shared"),
        (3, 3, "of steps"),
        *(
            pytest.param(n, c, kind, marks=SLOW)
            for n, c in [(1, 3), (2, 2), (2, 5), (5, 2), (5, 9)]
            for kind in ("shared", "of items", "of steps")
        ),
    ],
)
def test_equal_those_of_the_cpu(n, c, kind):
    batch = 3
    transitions = {"shared": (), "of items": (batch,), "of steps": (batch, n - 1)}[kind]
    agree(*chain(batch, n, c, transitions, forbidden=0.1 if kind == "shared" else 0.0))


@SLOW
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("scale", [300.0, 1e6])
def test_scores_far_apart(scale, dtype):
    """What plain numbers would lose; some scores are -inf."""
    unary, transition, lengths = chain(3, 3, 3, (), scale, dtype, forbidden=0.15)
    agree(unary, transition, lengths)


@SLOW
@pytest.mark.parametrize(
    ("n", "c", "kind", "dtype"),
    [
        (3, 70, "shared", torch.float32),
        (3, 70, "of steps", torch.float64),
        *(
            (n, c, kind, torch.float32)
            for n, c in [(1, 129), (2, 160), (5, 130)]
            for kind in ("shared", "of items", "of steps")
        ),
    ],
)
def test_more_tags_than_registers_hold(n, c, kind, dtype):
    transitions = {"shared": (), "of items": (3,), "of steps": (3, n - 1)}[kind]
    agree(*chain(3, n, c, transitions, 2.0, dtype, forbidden=0.1))


def test_many_tags_whose_scores_are_far_apart():
    """Items in extended numbers, beside one in plain numbers."""
    unary, transition, lengths = chain(2, 3, 65, (2,), 300.0, torch.float64, forbidden=0.1)
    unary[0] /= 300.0
    transition[0] = (transition[0] / 300.0).nan_to_num(neginf=0.0)
    assert by_kernels(marks, unary, transition[:, None], lengths) == [0, 1]
    agree(unary, transition, lengths)


@pytest.mark.skipif(not ON_GPU, reason="the interpreter takes minutes")
@pytest.mark.parametrize("c", [16, 31, 32, 33, 63, 64, 65, 127, 128, 129, 256, 257, 600])
@pytest.mark.parametrize("transitions", [(), (3,), (3, 39)])
def test_many_tags(c, transitions):
    agree(*chain(3, 40, c, transitions, 5.0, forbidden=0.05))


def marks(unary, transition, lengths):
    """The kinds of numbers in which items were computed: 0 for plain, 1 for extended."""
    kernels = dispatch.kernels(PACKAGE, "gpu")
    _, chart = kernels.inside(unary.to(DEVICE), transition.to(DEVICE), lengths.to(DEVICE))
    return chart.view(torch.int32)[:, 0].tolist()


def test_extended_numbers_only_where_plain_ones_lose_something():
    unary, transition = torch.zeros(4, 3, 2), torch.tensor([[[[0.0, -5.0], [-3.0, 1.0]]]])
    unary[1, 1, 0] = -200.0  # another way to the next tag always weighs more
    unary[2, 1, 1] = -200.0
    lengths = torch.full((4,), 3)
    assert by_kernels(marks, unary, transition, lengths) == [0, 0, 0, 0]
    forbidden = transition.clone()
    forbidden[..., 0, 1] = -torch.inf  # now the tag at position 1 decides what can follow
    assert by_kernels(marks, unary, forbidden, lengths) == [0, 1, 1, 0]
    agree(unary, forbidden[0, 0], lengths)


def test_the_first_of_tied_tags():
    """As on the CPU."""
    unary, transition, lengths = torch.zeros(3, 4, 3), torch.zeros(3, 3), torch.tensor([4, 2, 0])
    transition[0, 0] = -torch.inf
    unary[1, :, 0] = -torch.inf

    def mode(unary, transition, lengths):
        return LinearChain(unary, transition, lengths).mode.cpu()

    found = by_kernels(mode, *(each.to(DEVICE) for each in (unary, transition, lengths)))
    assert torch.equal(found, mode(unary, transition, lengths))


@pytest.mark.parametrize(
    ("unary", "transition", "chosen"),
    [
        ((2, 8, 64), (1, 1, 64, 64), "gpu"),
        ((2, 512, 128), (1, 1, 128, 128), "gpu_launch"),  # the table would be too large
        ((2, 8, 129), (1, 1, 129, 129), "gpu"),
        ((2, 512, 129), (1, 1, 129, 129), "gpu_launch"),
        ((2, 2, 1025), (1, 1, 1025, 1025), None),
        ((2, 0, 3), (1, 1, 3, 3), "nothing"),
    ],
)
def test_what_answers(unary, transition, chosen):
    """None is the table, "nothing" the reference."""
    scores = torch.zeros(unary, device=DEVICE), torch.zeros(transition, device=DEVICE)
    lengths = torch.zeros(2, dtype=torch.int64, device=DEVICE)
    found = by_kernels(dispatch.select, PACKAGE, *scores, lengths)
    if chosen == "nothing":
        assert found is None
    else:
        assert getattr(found, "__name__", None) == (chosen and f"{PACKAGE}.{chosen}")
