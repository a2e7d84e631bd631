"""The fused kernels of CTC say what the reference says, and are exact where probabilities underflow."""

from collections.abc import Callable

import pytest
import torch
from tests.backends import assert_kernels_answer_as_the_reference, log_partition_and_gradient
from tests.kernels.test_backends import CHANGES, assert_backends_agree, normal, unchanged
from torch import Tensor
from torch.nn.functional import ctc_loss

from strukt.distributions import CTC
from strukt.kernels import dispatch

pytestmark = pytest.mark.skipif(
    dispatch.backends()["cpu"] != "available", reason=f"no compiled kernels: {dispatch.backends()['cpu']}"
)

Built = tuple[CTC, tuple[Tensor, ...]]


def build(n: int, m: int, c: int, change: Callable[[Tensor], Tensor]) -> Callable[[], Built]:
    """Items of few labels that often repeat, of many, of none, and such that do not fit."""
    generator = torch.Generator().manual_seed(n + m)
    targets = torch.randint(1, c, (6, m), generator=generator)
    targets[0] = 1
    frames = torch.tensor([n, n, n // 2, 0, 1, n])
    labels = torch.tensor([m, m, m, m, 1, 0]).clamp(max=m)

    def fresh() -> Built:
        logits = change(normal(6, n, c)).requires_grad_()
        return CTC(logits, targets, frames, labels), (logits,)

    return fresh


@pytest.mark.thinned("m", "change")
@pytest.mark.parametrize(("change", "tolerance"), CHANGES[:-1])
@pytest.mark.parametrize("m", [1, 2, 3, 31, 33, 65])
def test_targets_of_any_length(on, poisoned_memory, m, change, tolerance):
    assert_backends_agree(on, build(2 * m + 1, m, 4, change), tolerance)


@pytest.mark.parametrize("n", [1, 2, 3, 31, 33, 65])
@pytest.mark.parametrize("m", [0, 1, 5])
def test_any_number_of_frames(on, poisoned_memory, n, m):
    assert_backends_agree(on, build(n, m, 3, unchanged), 1e-10)


def confident(frames: int, labels: int) -> tuple[Tensor, Tensor]:
    """Logits of a sure network: each label at its turn, all others 30 below."""
    targets = torch.randint(1, 30, (3, labels), generator=torch.Generator().manual_seed(0))
    logits = normal(3, frames, 30)
    turns = (torch.arange(labels) + 0.5) * frames / labels
    logits[:, :, 0] += 30
    for item in range(3):
        logits[item, turns.long(), targets[item]] += 60
    return logits, targets


def test_a_confident_network_does_not_underflow(on):
    """Places far from the true one have probabilities of e^-3000 and less; the true path is found all the same."""
    logits, targets = confident(800, 120)
    scores = logits.log_softmax(-1).requires_grad_()
    size = torch.full((3,), 800), torch.full((3,), 120)
    on("cpu")
    value = CTC(scores, targets).log_partition
    expected = -ctc_loss(logits.log_softmax(-1).transpose(0, 1), targets, *size, reduction="none")
    assert torch.allclose(value, expected, rtol=1e-9)
    late = scores.detach().clone()
    late[:, :400] = late[:, :400].roll(200, 1)  # the first half of the labels comes too late
    assert_kernels_answer_as_the_reference(
        on, lambda: log_partition_and_gradient(lambda scores: CTC(scores, targets), late), 1e-9
    )


def test_a_target_that_just_fits(on, poisoned_memory):
    """One labelling is left, whatever it costs."""
    on("cpu")
    logits = 300 * normal(1, 40, 41)
    targets = torch.arange(1, 41).view(1, 40)
    ctc = CTC(logits, targets)
    frames = torch.arange(40)
    assert torch.allclose(ctc.log_partition, logits[0, frames, targets[0]].sum())
    one = torch.ones((), dtype=torch.float64)
    assert torch.allclose(ctc.marginals[0, frames, targets[0]], one, rtol=1e-12)
    assert torch.equal(ctc.mode, targets)
    assert torch.equal(ctc.sample((2,)), targets.expand(2, 1, 40))
