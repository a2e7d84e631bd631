"""The kernels of CTC for GPUs say what those of the CPU say, with equal bits in every run."""

import pytest
import torch
from tests.kernels.engine.gpu.device import DEVICE, ON_GPU, SLOW, by_kernels, needed

from strukt.distributions import CTC
from strukt.structures.ctc import gpu

pytestmark = needed

SIZES = [
    (2, 1),
    *(pytest.param(n, m, marks=SLOW) for n, m in ((1, 0), (3, 2), (5, 3))),
    *((33, 10), (65, 31), (200, 128)) * ON_GPU,
]
"""Frames, and labels of targets."""


def batch(n, m, dtype=torch.float64, scale=1.0, labels=4, blank=1):
    """Scores, and items of all lengths: of one repeated label, without labels, without frames, forbidden."""
    generator = torch.Generator().manual_seed(10 * n + m)
    logits = scale * torch.randn(6, n, labels, generator=generator, dtype=dtype)
    logits[torch.rand(logits.shape, generator=generator) < 0.1] = -torch.inf
    logits[5, n // 2] = -torch.inf
    targets = torch.randint(2, labels, (6, m), generator=generator)
    targets[0] = 0
    lengths, target_lengths = torch.tensor([n, n, n // 2, 0, n, n]), torch.tensor([m, m, m // 2, m, 0, m])
    return logits, targets, lengths, target_lengths, blank


def answers(logits, targets, lengths, target_lengths, blank):
    """The log-partition, its gradient times factors, a best labelling and its score."""
    leaf = logits.detach().requires_grad_()
    ctc = CTC(leaf, targets, lengths, target_lengths, blank)
    value = ctc.log_partition
    factors = torch.arange(1.0, 1 + len(value), dtype=value.dtype, device=value.device)
    (grad,) = torch.autograd.grad(value, leaf, factors)
    return value.detach(), grad, *ctc._best()


def there(logits, targets, lengths, target_lengths, blank):
    """The items on the device: in memory frames come first, as PyTorch's loss takes them, and NaN is padding."""
    padding = torch.arange(logits.shape[1]) >= lengths[:, None]
    padded = logits.masked_fill(padding.unsqueeze(-1), torch.nan).transpose(0, 1).contiguous().to(DEVICE)
    integers = (each.to(DEVICE) for each in (targets, lengths, target_lengths))
    return padded.transpose(0, 1), *integers, blank


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_equal_those_of_the_cpu(n, m):
    items = batch(n, m)
    exact, found = answers(*items), by_kernels(answers, *there(*items))
    for mine, right in zip(found, exact, strict=True):
        assert torch.allclose(mine.cpu(), right, 1e-10, 1e-10)
    assert (found[1][exact[0] == -torch.inf] == 0).all()
    assert (found[2][exact[0] == -torch.inf] == -1).all()


@SLOW
def test_float32_scores_far_apart():
    """Scores of deviation 300, of which some are -inf."""
    logits, *rest = batch(4, 2, torch.float32, 300.0)
    exact, found = answers(logits.double(), *rest), by_kernels(answers, *there(logits, *rest))
    assert (exact[0] > -torch.inf).sum() >= 3
    assert torch.allclose(found[0].double().cpu(), exact[0], rtol=1e-6)
    assert torch.allclose(found[1].double().cpu(), exact[1], atol=1e-5)
    assert torch.equal(found[2].cpu(), exact[2])


def test_labels_that_nobody_checked_are_impossible():
    """A kernel reads no memory beyond the scores; a blank is no label of a target."""
    logits = torch.zeros(3, 2, 3, device=DEVICE)
    targets = torch.tensor([[7], [0], [1]], device=DEVICE)
    states = torch.zeros(3, 3, dtype=torch.int64, device=DEVICE)
    states[:, 1] = targets[:, 0]
    sizes = torch.full((3,), 2, device=DEVICE), states, torch.ones(3, dtype=torch.int64, device=DEVICE)
    value, chart = gpu.inside(logits, *sizes)
    assert value.isneginf().tolist() == [True, True, False]
    grad = gpu.outside(logits, *sizes, torch.ones_like(value), chart)
    assert (grad[:2] == 0).all()
    assert grad[2].sum().item() == pytest.approx(2.0)
