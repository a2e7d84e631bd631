"""The CTC loss against PyTorch's, in all forms of the arguments and at the edges."""

import math

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck
from torch.nn import functional

import strukt

FRAMES = torch.tensor([9, 9, 7, 3, 5])
TARGETS = torch.tensor([[1, 2, 3, 4], [2, 2, 2, 0], [1, 1, 0, 0], [3, 0, 0, 0], [4, 3, 3, 0]])
LABELS = torch.tensor([4, 3, 2, 0, 3])
"""Repeated labels, an empty target, and padding (0, the blank) that is not to be read."""


ONE = torch.tensor(1)


def logits(seed: int = 0, frames: int = 9, batch: int = 5, labels: int = 5) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(frames, batch, labels, generator=generator, dtype=torch.float64)


def values_and_gradients(loss, scores: Tensor, *given, **options) -> tuple[Tensor, Tensor]:
    leaf = scores.clone().requires_grad_()
    value = loss(leaf.log_softmax(-1), *given, **options)
    weights = torch.arange(1.0, 1 + value.numel(), dtype=value.dtype).view(value.shape)
    return value.detach(), torch.autograd.grad((weights * value).sum(), leaf)[0]


def assert_as_torch(scores: Tensor, *given, **options) -> None:
    ours = values_and_gradients(strukt.ctc_loss, scores, *given, **options)
    theirs = values_and_gradients(functional.ctc_loss, scores, *given, **options)
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.dtype == other.dtype
        assert mine.shape == other.shape
        torch.testing.assert_close(mine, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("zero_infinity", [False, True])
def test_values_and_gradients_are_those_of_torch(reduction, zero_infinity):
    options = {"reduction": reduction, "zero_infinity": zero_infinity}
    assert_as_torch(logits(), TARGETS, FRAMES, LABELS, **options)


@pytest.mark.parametrize("lengths", [tuple, list, torch.tensor, lambda each: torch.tensor(each).int()])
def test_lengths_in_every_form(lengths):
    given = lengths(FRAMES.tolist()), lengths(LABELS.tolist())
    assert_as_torch(logits(), TARGETS, *given, reduction="none")
    assert_as_torch(logits(), TARGETS.int(), *given)


def test_targets_one_behind_the_other():
    flat = torch.cat([target[:count] for target, count in zip(TARGETS, LABELS, strict=True)])
    assert_as_torch(logits(), flat, FRAMES, LABELS, reduction="none")
    none = torch.zeros(5, dtype=torch.long)
    assert_as_torch(logits(), flat[:0], FRAMES, none, reduction="none")


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_a_single_item_without_batch_axis(reduction):
    one = logits()[:, 0]
    for sizes in ((torch.tensor(9), torch.tensor(4)), ((9,), (4,)), (torch.tensor([9]), torch.tensor([4]))):
        assert_as_torch(one, TARGETS[0], *sizes, reduction=reduction)
    assert_as_torch(one, TARGETS[:1], (9,), (4,), reduction=reduction)
    number = strukt.ctc_loss(one.log_softmax(-1), TARGETS[0], 9, 4, reduction=reduction)
    expected = functional.ctc_loss(one.log_softmax(-1), TARGETS[0], (9,), (4,), reduction=reduction)
    assert torch.allclose(number, expected)


@pytest.mark.parametrize("blank", [1, 4])
def test_any_label_may_be_the_blank(blank):
    targets = torch.tensor([[0, 2, 2], [3, 0, 3]])
    assert_as_torch(logits(batch=2), targets, (9, 8), (3, 3), blank=blank, reduction="none")


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_targets_that_do_not_fit_cost_infinity_or_nothing(reduction):
    """Too many labels, a repetition without a frame for the blank between, no frames."""
    targets, frames = torch.tensor([[1, 2, 3], [1, 1, 0], [1, 0, 0], [1, 2, 0]]), (2, 2, 0, 2)
    given = targets, frames, (3, 2, 1, 2)
    scores = logits(batch=4)
    value, gradient = values_and_gradients(strukt.ctc_loss, scores, *given, reduction=reduction)
    expected = functional.ctc_loss(scores.log_softmax(-1), *given, reduction=reduction)
    torch.testing.assert_close(value, expected)
    assert torch.isinf(value).any()
    assert (gradient[:, :3] == 0).all()
    assert torch.isfinite(gradient).all()
    assert_as_torch(scores, *given, reduction=reduction, zero_infinity=True)


def test_the_gradient_is_the_true_one():
    """In log-probabilities it is minus the posterior; PyTorch's adds what `log_softmax` takes off."""
    log_probs = logits().log_softmax(-1)
    leaf = log_probs.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(
        strukt.ctc_loss(leaf, TARGETS, FRAMES, LABELS, reduction="sum"), leaf
    )
    ctc = strukt.CTC(log_probs.transpose(0, 1), TARGETS, FRAMES, LABELS)
    assert torch.allclose(gradient, -ctc.marginals.transpose(0, 1))
    (theirs,) = torch.autograd.grad(
        functional.ctc_loss(leaf, TARGETS, FRAMES, LABELS, reduction="sum"), leaf
    )
    within = (torch.arange(9)[:, None] < FRAMES).unsqueeze(-1)
    assert torch.allclose(torch.where(within, gradient + log_probs.exp(), 0.0), theirs)


def test_derivatives_of_any_order():
    scores = logits(frames=4, batch=3, labels=3).requires_grad_()
    given = torch.tensor([[1, 2], [1, 1], [2, 0]]), (4, 3, 2), (2, 2, 0)

    def loss(leaf: Tensor) -> Tensor:
        return strukt.ctc_loss(leaf, *given)

    assert gradcheck(loss, scores)
    assert gradgradcheck(loss, scores)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"reduction": "batchmean"}, "reduction is 'batchmean'; expected 'none', 'mean' or 'sum'"),
        ({"log_probs": torch.zeros(4, 2, 3).index_fill(1, ONE, math.nan)}, "^log_probs holds nan at batch item 1"),
        ({"log_probs": torch.zeros(4, 2, 3).index_fill(1, ONE, math.inf)}, "^log_probs holds inf at batch item 1"),
        ({"log_probs": torch.zeros(1, 4, 2, 3)}, r"log_probs has shape \(1, 4, 2, 3\); expected \(T, N, C\)"),
        ({"targets": torch.tensor([1, 2, 1])}, r"targets has shape \(3,\); expected \(4,\), the sum of"),
        ({"targets": torch.tensor([[1], [2]])}, r"targets has shape \(2, 1\); expected \(N, S\) with N = 2"),
        ({"targets": torch.tensor([[1.0, 2.0]] * 2)}, "targets is of type torch.float32"),
        ({"targets": [[1, 2], [2, 1]]}, "targets is of type list; expected a LongTensor"),
        ({"targets": torch.tensor([[1, 0], [1, 2]])}, "targets holds 0 at batch item 0, position 1"),
        ({"input_lengths": (5, 4)}, r"input_lengths holds 5 .*expected 0 to 4"),
        ({"input_lengths": (4,)}, r"input_lengths has shape \(1,\); expected \(2,\)"),
        ({"target_lengths": (2, -1)}, "target_lengths holds -1 .*expected 0 to 2"),
        ({"target_lengths": ("2", "1")}, r"target_lengths is \('2', '1'\); expected a LongTensor"),
        ({"input_lengths": None}, r"input_lengths is None; expected a LongTensor of shape \(2,\)"),
        ({"target_lengths": None}, r"target_lengths is None; expected a LongTensor of shape \(2,\)"),
        ({"blank": 3}, "blank is 3; expected one of the labels, an integer from 0 to 2"),
    ],
)
def test_wrong_arguments_are_named(change, message):
    given = {
        "log_probs": torch.zeros(4, 2, 3),
        "targets": torch.tensor([[1, 2], [2, 1]]),
        "input_lengths": (4, 4),
        "target_lengths": (2, 2),
    } | change
    with pytest.raises(ValueError, match=message):
        strukt.ctc_loss(**given)


@pytest.mark.filterwarnings("ignore")  # of torch.compile
def test_padded_targets_compile_without_a_break():
    compiled = torch.compile(strukt.ctc_loss, backend="aot_eager", fullgraph=True)
    ours = values_and_gradients(compiled, logits(), TARGETS, FRAMES, LABELS, reduction="sum")
    theirs = values_and_gradients(functional.ctc_loss, logits(), TARGETS, FRAMES, LABELS, reduction="sum")
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-9, atol=1e-9)
