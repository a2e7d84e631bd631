"""CTC: against PyTorch's own loss, counts by formula, targets that are refused."""

import math

import pytest
import torch
from torch.distributions import kl_divergence
from torch.nn.functional import ctc_loss

from strukt.distributions import CTC

FRAMES = torch.tensor([12, 9, 3, 0, 5, 12, 7])
TARGETS = torch.tensor(
    [[1, 2, 3, 4], [2, 2, 2, 9], [1, 1, 9, 9], [9, 9, 9, 9], [9, 9, 9, 9], [4, 3, 3, 4], [3, 2, 3, 2]]
)
LABELS = torch.tensor([4, 3, 2, 0, 0, 4, 4])


def normal(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def theirs(logits: torch.Tensor, blank: int = 0) -> torch.Tensor:
    logs = logits.log_softmax(-1).transpose(0, 1)
    return -ctc_loss(logs, TARGETS, FRAMES, LABELS, blank=blank, reduction="none")


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0, 100.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_log_partition_and_gradient_are_those_of_torch(dtype, scale):
    """With repeated labels, empty targets, no frames; padding of the targets (9 is no label) is not read."""
    logits = scale * normal(7, 12, 5, dtype=dtype)
    ours, other = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    value, expected = CTC(ours.log_softmax(-1), TARGETS, FRAMES, LABELS).log_partition, theirs(other)
    tolerance = 1e-4 if dtype == torch.float32 else 1e-10
    assert value.dtype == dtype
    assert torch.allclose(value, expected, rtol=tolerance, atol=tolerance)
    weights = normal(7, seed=1, dtype=dtype)
    (gradient,) = torch.autograd.grad((weights * value).sum(), ours)
    (right,) = torch.autograd.grad((weights * expected).sum(), other)
    assert torch.allclose(gradient, right, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("blank", [1, 4])
def test_any_label_may_be_the_blank(blank):
    logits = normal(2, 8, 5).log_softmax(-1)
    targets = torch.tensor([[2, 3, 3], [0, 2, 0]])
    sizes = torch.tensor([8, 8]), torch.tensor([3, 3])
    expected = -ctc_loss(logits.transpose(0, 1), targets, *sizes, blank=blank, reduction="none")
    assert torch.allclose(CTC(logits, targets, blank=blank).log_partition, expected)


def test_a_target_that_does_not_fit_has_no_labelling():
    """As torch has it; a repeated label needs a blank between."""
    logits = normal(3, 3, 4).log_softmax(-1).requires_grad_()
    targets, labels = torch.tensor([[1, 2, 3, 1], [1, 2, 2, 0], [1, 2, 3, 0]]), torch.tensor([4, 3, 3])
    ctc = CTC(logits, targets, target_lengths=labels)
    assert ctc.log_partition.tolist()[:2] == [-math.inf, -math.inf]
    loss = ctc_loss(logits.transpose(0, 1), targets, torch.full((3,), 3), labels, reduction="none")
    assert torch.allclose(ctc.log_partition, -loss)
    (gradient,) = torch.autograd.grad(ctc.log_partition[:2].sum(), logits)
    assert (gradient == 0).all()
    assert ctc.marginals[2].argmax(-1).tolist() == [1, 2, 3]


def test_an_empty_target_has_blanks_only():
    logits = normal(6, 3)
    ctc = CTC(logits, torch.zeros(0, dtype=torch.int64))
    assert torch.allclose(ctc.log_partition, logits[:, 0].sum())
    assert ctc.mode.tolist() == [0] * 6
    assert ctc.topk(2)[0][1] == -math.inf


@pytest.mark.parametrize(("n", "m"), [(1, 0), (1, 1), (4, 2), (7, 3), (9, 9), (30, 11)])
def test_counts_of_different_labels(n, m):
    """Choose where each of m labels and m + 1 blanks ends, of which the blanks may have no frame."""
    ctc = CTC(torch.zeros(n, m + 1, dtype=torch.float64), torch.arange(1, m + 1))
    assert ctc.log_count.exp().round() == math.comb(n + m, 2 * m)


@pytest.mark.parametrize(("n", "m"), [(3, 2), (8, 3), (20, 6)])
def test_counts_of_one_label_repeated(n, m):
    """Now the m - 1 blanks between have a frame at least."""
    ctc = CTC(torch.zeros(n, 2, dtype=torch.float64), torch.ones(m, dtype=torch.int64))
    assert ctc.log_count.exp().round() == math.comb(n + 1, 2 * m)


def test_targets_and_lengths_are_kept():
    ctc = CTC(normal(7, 12, 5), TARGETS, FRAMES, LABELS)
    assert ctc.target_lengths.tolist() == LABELS.tolist()
    assert ctc.targets[1].tolist() == [2, 2, 2, 0]
    wide = ctc.expand((3, 7))
    assert wide.targets.shape == (3, 7, 4)
    assert wide.condition(forbidden=torch.zeros(3, 7, 12, 5, dtype=torch.bool)).blank == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"targets": torch.tensor([[1, 0]])},
            r"targets holds 0 at batch item 0, position 1;.*blank, which is 0",
        ),
        ({"targets": torch.tensor([[1, 4]])}, r"targets holds 4.*labels from 0 to 3"),
        ({"targets": torch.tensor([[-1, 1]])}, r"targets holds -1"),
        ({"targets": torch.tensor([1, 2])}, r"targets has shape \(2,\); expected \(1, 'm'\)"),
        ({"targets": torch.tensor([[1.0, 2.0]])}, r"targets is of type torch.float32"),
        ({"target_lengths": torch.tensor([3])}, r"target_lengths holds 3 .*expected 0 to 2"),
        ({"target_lengths": torch.tensor(2)}, r"target_lengths has shape \(\)"),
        ({"blank": 4}, r"blank is 4; expected one of the labels, an integer from 0 to 3"),
        ({"blank": -1}, r"blank is -1"),
        ({"blank": True}, r"blank is True"),
    ],
)
def test_wrong_targets_are_refused(change, message):
    arguments = {"logits": torch.zeros(1, 3, 4), "targets": torch.tensor([[1, 2]])} | change
    with pytest.raises(ValueError, match=message):
        CTC(**arguments)


def test_other_targets_are_other_structures():
    logits = torch.zeros(1, 4, 4)
    ctc = CTC(logits, torch.tensor([[1, 2]]), validate_args=True)
    with pytest.raises(ValueError, match="other differs from this distribution in targets"):
        kl_divergence(ctc, CTC(logits, torch.tensor([[1, 3]])))
    with pytest.raises(ValueError, match="other has targets of shape"):
        kl_divergence(ctc, CTC(logits, torch.tensor([[1, 2, 3]])))
    with pytest.raises(ValueError, match="other differs from this distribution in targets"):
        kl_divergence(ctc, CTC(logits, torch.tensor([[1, 2]]), blank=3))


def test_supports_of_different_targets_are_not_enumerated_together():
    with pytest.raises(NotImplementedError, match="items of different targets"):
        CTC(torch.zeros(2, 3, 3), torch.tensor([[1, 2], [2, 1]])).enumerate_support()
