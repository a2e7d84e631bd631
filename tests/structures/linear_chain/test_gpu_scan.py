"""Long chains are split into blocks on GPUs, here also short ones: blocks of sqrt(n) positions."""

import pytest
import torch
from tests.kernels.engine.gpu.device import DEVICE, ON_GPU, SLOW, by_kernels, needed
from tests.structures.linear_chain.gpu_answers import agree, answers, chain

from strukt import LinearChain
from strukt.kernels import dispatch
from strukt.structures.linear_chain import gpu_launch_scan

pytestmark = needed

PACKAGES = ("strukt.structures.linear_chain", "strukt.structures.checkpointed_chain")


def of_lengths(lengths, n, c, transitions=(), *more):
    """Scores of items of these lengths."""
    unary, transition, _ = chain(len(lengths), n, c, transitions, *more)
    return unary, transition, torch.tensor(lengths)


@pytest.mark.usefixtures("every_length")
@pytest.mark.parametrize(
    ("lengths", "n", "c", "kind"),
    [
        ([0, 1, 5], 5, 2, "shared"),  # blocks of 2
        pytest.param([0, 1, 4, 9], 9, 3, "shared", marks=SLOW),
        pytest.param([16, 3], 16, 5, "of steps", marks=SLOW),  # blocks of 4
        *(
            pytest.param(lengths, n, c, kind, marks=SLOW)
            for lengths, n in [([1], 1), ([2, 1], 2), ([3, 0], 3), ([17, 15, 5], 17), ([16, 8, 7], 18)]
            for c in (1, 9)
            for kind in ("shared", "of items", "of steps")
        ),
    ],
)
def test_equal_those_of_the_cpu(lengths, n, c, kind):
    batch = len(lengths)
    transitions = {"shared": (), "of items": (batch,), "of steps": (batch, n - 1)}[kind]
    agree(*of_lengths(lengths, n, c, transitions, 1.0, torch.float32, 0.1 if kind == "shared" and c > 1 else 0.0))


@SLOW
@pytest.mark.usefixtures("every_length")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("scale", [300.0, 1e6])
def test_scores_far_apart(scale, dtype):
    agree(*of_lengths([9, 5, 2], 9, 3, (), scale, dtype, 0.15))


@pytest.mark.usefixtures("every_length")
@pytest.mark.parametrize("dtype", [pytest.param(dtype, marks=SLOW) for dtype in (torch.float32, torch.float64)])
def test_a_way_that_only_its_end_allows(dtype):
    """Its weights are lost beside those of the other in plain numbers, and in rows of one exponent."""
    unary, transition = torch.zeros(3, 9, 2, dtype=dtype), torch.zeros(2, 2, dtype=dtype)
    transition[0, 1] = transition[1, 0] = -torch.inf
    unary[0, :, 1], unary[0, 8, 0] = -90.0, -torch.inf
    unary[1, 4], unary[1, 5, 0] = torch.tensor([-torch.inf, -700.0], dtype=dtype), -torch.inf
    unary[2, 4, 0], unary[2, 5, 1] = -torch.inf, -torch.inf  # no way is left
    lengths = torch.tensor([9, 9, 9])
    scores = [score.to(DEVICE) for score in (unary, transition)]
    here = LinearChain(*scores, lengths.to(DEVICE))
    assert by_kernels(lambda: here.log_partition[2]) == -torch.inf
    assert by_kernels(lambda: here.marginals[2].abs().max()) == 0.0
    agree(unary[:2], transition, lengths[:2])


@pytest.mark.usefixtures("every_length")
def test_the_first_of_tied_tags():
    """As on the CPU: at each step, not at each border of blocks."""
    lengths = torch.tensor([9, 7, 5, 0])
    unary, transition = torch.zeros(4, 9, 3), torch.zeros(3, 3)
    transition[0, 0] = -torch.inf
    unary[1, :, 0] = -torch.inf
    unary[2] = torch.randint(2, (9, 3), generator=torch.Generator().manual_seed(0)).float()

    def mode(unary, transition, lengths):
        return LinearChain(unary, transition, lengths).mode.cpu()

    found = by_kernels(mode, *(each.to(DEVICE) for each in (unary, transition, lengths)))
    assert torch.equal(found, mode(unary, transition, lengths))


@pytest.mark.usefixtures("every_length")
def test_ties_within_a_block_are_resolved_before_those_at_its_border():
    """A path over tag 0 in the block, from tag 1 before it, and one over tag 1, from tag 0, have equal scores."""
    unary, no = torch.zeros(1, 4, 2), -torch.inf
    transition = torch.tensor([[[no, 0.0], [0.0, no]], [[no, 0.0], [0.0, no]], [[0.0, no], [0.0, no]]])
    best = by_kernels(lambda: LinearChain(unary.to(DEVICE), transition[None].to(DEVICE)).mode.cpu())
    assert best.tolist() == [[0, 1, 0, 0]]


@SLOW
@pytest.mark.usefixtures("every_length")
def test_charts_of_other_batches(monkeypatch):
    """The backward pass of a Jacobian has twice as many items: not split, they need charts of their own."""
    monkeypatch.setattr(gpu_launch_scan, "multiprocessors", lambda device: 4)
    unary, transition, _ = (score.to(DEVICE) for score in chain(2, 5, 2, dtype=torch.float64))
    jacobian = torch.func.jacrev(lambda unary: LinearChain(unary, transition).log_partition)
    found = by_kernels(jacobian, unary).cpu()
    marginals = LinearChain(unary.cpu(), transition.cpu()).marginals
    expected = torch.eye(2, dtype=torch.float64)[..., None, None] * marginals
    assert torch.allclose(found, expected, 0.0, 1e-11)


@pytest.mark.usefixtures("every_length")
@pytest.mark.parametrize("runs", [50 if ON_GPU else pytest.param(1, marks=SLOW)])
def test_the_same_bits_in_every_run(runs):
    given = [each.to(DEVICE) for each in chain(2, 9, 3, scale=20.0, forbidden=0.1)]
    factors = torch.ones(2, device=DEVICE)
    first = by_kernels(answers, *given, factors)
    for _ in range(runs):
        assert all(map(torch.equal, by_kernels(answers, *given, factors), first))


@pytest.mark.skipif(not ON_GPU, reason="the interpreter takes minutes")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("batch", "n", "c"), [(1, 100_000, 5), (8, 10_000, 8), (32, 1025, 16)])
def test_long_chains(batch, n, c, dtype):
    unary, transition, _ = chain(batch, n, c, (), 5.0, dtype)
    agree(unary, transition, torch.tensor([n - item % 4 * (n // 4) for item in range(batch)]))


@pytest.mark.parametrize(
    ("shape", "blocks"),
    [
        ((1, 100_000, 5), 391),
        ((8, 10_000, 8), 157),
        ((64, 1024, 8), 32),
        ((65, 1024, 8), None),  # fills a GPU with a program for each item
        ((1, 1023, 5), None),
        ((1, 100_000, 17), None),
    ],
)
def test_what_is_split_into_blocks(shape, blocks):
    """The chart tells by its size: it has the sums at both borders of a block, in place of those of positions."""
    batch, n, c = shape
    unary, lengths = torch.empty(shape, device="meta"), torch.empty(batch, dtype=torch.int64, device="meta")
    transition = torch.empty(1, 1, c, c, device="meta")
    for package in PACKAGES:
        found = dispatch.kernels(package, "gpu").chart_shape(unary, transition, lengths)
        assert found == (batch, 2 * blocks * c if blocks else 1 + n + n * c)


def test_larger_devices_split_larger_batches(monkeypatch):
    unary = torch.empty(65, 1024, 8, device="meta")
    assert gpu_launch_scan.multiprocessors(unary.device) == 128  # as in Triton's interpreter
    assert not gpu_launch_scan.pays_off(unary)
    monkeypatch.setattr(gpu_launch_scan, "multiprocessors", lambda device: 132)
    assert gpu_launch_scan.pays_off(unary)
