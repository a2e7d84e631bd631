"""The gradient of marginals of long chains on GPUs, here also of short ones, in blocks of sqrt(n) positions."""

import pytest
import torch
from tests.kernels.engine.gpu.device import DEVICE, ON_GPU, SLOW, by_kernels, needed
from tests.structures.linear_chain.gpu_answers import chain

from strukt import LinearChain
from strukt.kernels import dispatch

pytestmark = [needed, pytest.mark.usefixtures("every_length")]

PACKAGE = "strukt.structures.linear_chain"
EXACT = {torch.float32: 1e-5, torch.float64: 1e-11}
"""The largest absolute error of derivatives by those of the CPU."""


def changes(unary, transition, lengths, factors, *moves):
    """Gradients of <marginals times factors, directions> with respect to the scores and the factors."""
    scores = [score.detach().requires_grad_() for score in (unary, transition)]
    factors = factors.detach().requires_grad_()
    log_partition = LinearChain(*scores, lengths).log_partition
    uses = torch.autograd.grad(log_partition, scores, factors, create_graph=True)
    return [each.cpu() for each in torch.autograd.grad(uses, [*scores, factors], moves)]


def agree(unary, transition, lengths):
    """Compare with derivatives in float64 on the CPU; directions of what is impossible are NaN."""
    generator = torch.Generator().manual_seed(1)
    factors = torch.linspace(-1.0, 2.0, len(unary), dtype=torch.float64)
    moves = [torch.randn(score.shape, generator=generator, dtype=torch.float64) for score in (unary, transition)]
    right = changes(unary.double(), transition.double(), lengths, factors, *moves)
    outside = (torch.arange(unary.shape[1]) >= lengths[:, None])[..., None]
    moves[0].masked_fill_(outside | (unary == -torch.inf), torch.nan)
    moves[1].masked_fill_(transition == -torch.inf, torch.nan)
    padded = unary.masked_fill(outside, torch.nan)
    if transition.dim() == 4:
        moves[1].masked_fill_(outside[:, 1:, :, None], torch.nan)
    given = [each.to(DEVICE) for each in (padded, transition, lengths)]
    mine = [each.to(DEVICE, unary.dtype) for each in (factors, *moves)]
    found = by_kernels(changes, *given, *mine)
    for change, exact in zip(found, right, strict=True):
        largest = max([1.0, *exact.abs().flatten().tolist()])
        assert torch.allclose(change.double(), exact, 0.0, EXACT[unary.dtype] * largest)


def of_lengths(lengths, n, c, kind, scale=1.0, dtype=torch.float64, forbidden=0.1):
    """Scores of items of these lengths, of which some are forbidden unless each step has its own."""
    transitions = {"shared": (), "of items": (len(lengths),), "of steps": (len(lengths), n - 1)}[kind]
    forbidden = 0.0 if kind == "of steps" else forbidden
    unary, transition, _ = chain(len(lengths), n, c, transitions, scale, dtype, forbidden)
    return unary, transition, torch.tensor(lengths)


@pytest.mark.parametrize(
    ("lengths", "n", "c", "kind"),
    [
        ([5, 1, 0], 5, 2, "shared"),  # blocks of 2
        pytest.param([5, 4, 1, 0], 5, 3, "shared", marks=SLOW),
        *(
            pytest.param(lengths, n, c, kind, marks=SLOW)
            for lengths, n in [([1], 1), ([2, 1], 2), ([3, 0], 3), ([16, 3], 16), ([17, 15, 5], 17)]
            for c in (1, 9)
            for kind in ("shared", "of items", "of steps")
        ),
    ],
)
def test_equal_those_of_the_cpu(lengths, n, c, kind):
    agree(*of_lengths(lengths, n, c, kind, forbidden=0.1 if c > 1 else 0.0))


@SLOW
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("scale", [300.0, 1e6])
def test_scores_far_apart(scale, dtype):
    agree(*of_lengths([9, 5], 9, 3, "shared", scale, dtype, 0.15))


@SLOW
def test_of_pairs_of_steps_that_share_their_scores():
    """Directions differ by step where transitions are the same tensor."""
    unary, transition, lengths = of_lengths([5, 3], 5, 2, "shared")
    factors = torch.rand(2, 4, 2, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)

    def slope(transition, unary, lengths, factors):
        here = LinearChain(unary, transition, lengths)
        return torch.autograd.grad((here.transition_marginals * factors).sum(), transition)[0].cpu()

    expected = slope(transition.clone().requires_grad_(), unary, lengths, factors)
    given = [each.to(DEVICE) for each in (unary, lengths, factors)]
    found = by_kernels(slope, transition.to(DEVICE).requires_grad_(), *given)
    assert torch.allclose(found, expected, 0.0, 1e-11)


def test_an_item_without_a_structure():
    unary, transition = torch.zeros(1, 4, 2, device=DEVICE), torch.zeros(2, 2, device=DEVICE)
    unary[0, 2] = -torch.inf
    moves = torch.ones_like(unary), torch.ones_like(transition)
    lengths, factors = torch.tensor([4], device=DEVICE), torch.ones(1, device=DEVICE)
    found = by_kernels(changes, unary, transition, lengths, factors, *moves)
    assert [float(each.abs().max()) for each in found] == [0.0, 0.0, 0.0]


@SLOW
def test_what_all_sequences_gain_changes_nothing():
    """Though growths add up to a million, of which a float32 keeps no thousandths."""
    unary, transition, lengths = of_lengths([25], 25, 2, "shared", dtype=torch.float32, forbidden=0.0)
    given = [each.to(DEVICE) for each in (unary, transition, lengths, torch.ones(1))]
    moves = torch.full_like(given[0], 4e4), torch.zeros_like(given[1])
    tags, pairs, gain = by_kernels(changes, *given, *moves)
    assert max(tags.abs().max(), pairs.abs().max()) < 1e-6
    assert torch.allclose(gain, torch.tensor([1e6]))


@pytest.mark.parametrize(
    ("shape", "chosen"),
    [
        ((1, 100_000, 5), "gpu"),
        ((1, 100_000, 16), "gpu_launch_growth"),  # the table would be too large
        ((200, 100_000, 16), "gpu_launch"),  # so many that each gets a program
    ],
)
def test_chains_too_long_for_a_table(shape, chosen):
    unary = torch.empty(1, device=DEVICE).expand(shape)
    transition = torch.empty(1, 1, shape[2], shape[2], device=DEVICE)
    lengths = torch.empty(shape[0], dtype=torch.int64, device=DEVICE)
    found = by_kernels(dispatch.select, PACKAGE, unary, transition, lengths)
    assert found.__name__ == f"{PACKAGE}.{chosen}"
    assert hasattr(found, "derivative") == (chosen != "gpu_launch")


@pytest.mark.parametrize("runs", [50 if ON_GPU else pytest.param(1, marks=SLOW)])
def test_the_same_bits_in_every_run(runs):
    given = [each.to(DEVICE) for each in of_lengths([9, 4], 9, 3, "shared", 20.0, torch.float32)]
    more = [torch.ones(2, device=DEVICE), *map(torch.ones_like, given[:2])]
    first = by_kernels(changes, *given, *more)
    for _ in range(runs):
        assert all(map(torch.equal, by_kernels(changes, *given, *more), first))


@pytest.mark.skipif(not ON_GPU, reason="the interpreter takes minutes")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("batch", "n", "c"), [(1, 100_000, 5), (8, 10_000, 8), (32, 1025, 16)])
def test_long_chains(batch, n, c, dtype):
    lengths = [n - item % 4 * (n // 4) for item in range(batch)]
    agree(*of_lengths(lengths, n, c, "shared", 5.0, dtype, 0.0))
