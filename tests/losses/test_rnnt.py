"""The RNN-T loss against enumeration, and at the edges of its arguments."""

import math

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

import strukt
from strukt.structures.transducer import softmax
from strukt.testing import brute_force

FRAME_LENGTHS, TARGET_LENGTHS = torch.tensor([4, 3, 1, 2]), torch.tensor([3, 0, 2, 3])
WORDS = torch.tensor([[1, 2, 2], [0, 0, 0], [2, 1, 0], [1, 1, 1]])


def lattice(seed: int = 0, labels: int = 4) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(4, 4, 4, labels, generator=generator, dtype=torch.float64)


def enumerated_rnnt(scores: Tensor, blank: int = 3) -> Tensor:
    """The losses of `WORDS` over all ways to emit their labels."""
    losses = []
    for item, words in enumerate(WORDS):
        logs = scores[item].log_softmax(-1)
        following = logs[:, torch.arange(4), torch.cat([words, words[:1]])]
        moves = torch.stack([logs[..., blank], following], -1)
        table = brute_force.transducer(int(FRAME_LENGTHS[item]), int(TARGET_LENGTHS[item]), moves)
        losses.append(-table.scores.logsumexp(0))
    return torch.stack(losses)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("fused", [True, False])
def test_rnnt_values_and_gradients_are_those_of_enumeration(reduction, fused):
    ours, theirs = lattice().requires_grad_(), lattice().requires_grad_()
    given = ours if fused else ours.log_softmax(-1)
    sizes = WORDS.int(), FRAME_LENGTHS.int(), TARGET_LENGTHS.int()
    value = strukt.rnnt_loss(given, *sizes, reduction=reduction, fused_log_softmax=fused)
    expected = enumerated_rnnt(theirs)
    if reduction != "none":
        expected = getattr(expected, reduction)()
    assert torch.allclose(value, expected)
    weights = torch.arange(1.0, 1 + value.numel(), dtype=value.dtype).view(value.shape)
    (gradient,) = torch.autograd.grad((weights * value).sum(), ours)
    (right,) = torch.autograd.grad((weights * expected).sum(), theirs)
    assert torch.allclose(gradient, right)


def test_rnnt_derivatives_of_second_order():
    scores = lattice(labels=3)[:2, :, :3].requires_grad_()

    def loss(leaf: Tensor) -> Tensor:
        words = torch.tensor([[0, 1], [1, 0]])
        return strukt.rnnt_loss(leaf, words, torch.tensor([4, 2]), torch.tensor([2, 1]))

    assert gradcheck(loss, scores)
    assert gradgradcheck(loss, scores)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script. is deprecated:DeprecationWarning")  # PyTorch's own
@pytest.mark.filterwarnings("ignore:.*should not be instantiated")  # by torch.compile
def test_rnnt_under_transforms_and_when_compiled():
    scores, tangent = lattice(), lattice(seed=1)
    scores[2, 2:], scores[1, :, 1:] = math.nan, math.nan  # padding

    def loss(leaf: Tensor, words: Tensor = WORDS, frames=FRAME_LENGTHS, counts=TARGET_LENGTHS) -> Tensor:
        return strukt.rnnt_loss(leaf, words, frames, counts, reduction="sum")

    leaf = scores.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(loss(leaf), leaf, create_graph=True)
    (second,) = torch.autograd.grad((gradient * tangent).sum(), leaf)
    assert torch.allclose(torch.func.grad(loss)(scores), gradient)
    value, slope = torch.func.jvp(loss, (scores,), (tangent,))
    assert torch.allclose(value, loss(scores))
    assert torch.allclose(slope, (gradient * tangent).sum())
    of_gradient = torch.func.jvp(torch.func.grad(loss), (scores,), (tangent,))[1]
    assert torch.allclose(of_gradient, second)
    items = torch.func.vmap(torch.func.grad(lambda *item: loss(*(each.unsqueeze(0) for each in item))))
    assert torch.allclose(items(scores, WORDS, FRAME_LENGTHS, TARGET_LENGTHS), gradient)
    compiled = torch.compile(loss, backend="aot_eager", fullgraph=True)
    assert torch.allclose(torch.autograd.grad(compiled(leaf), leaf)[0], gradient)


def test_rnnt_gradients_of_several_losses_at_once():
    scores = lattice().requires_grad_()
    losses = strukt.rnnt_loss(scores, WORDS, FRAME_LENGTHS, TARGET_LENGTHS, reduction="none")
    weights = torch.randn(3, 4, dtype=scores.dtype, generator=torch.Generator().manual_seed(0))
    (together,) = torch.autograd.grad(losses, scores, weights, is_grads_batched=True, retain_graph=True)
    for weight, gradient in zip(weights, together, strict=True):
        assert torch.allclose(gradient, torch.autograd.grad(losses, scores, weight, retain_graph=True)[0])


def test_bounded_gradients_of_rnnt_need_reverse_mode():
    def loss(leaf: Tensor) -> Tensor:
        return strukt.rnnt_loss(leaf, WORDS, FRAME_LENGTHS, TARGET_LENGTHS, clamp=0.1)

    def tangent(leaf: Tensor) -> None:
        with torch.autograd.forward_ad.dual_level():
            loss(torch.autograd.forward_ad.make_dual(leaf, leaf))

    for transformed in (torch.func.grad(loss), tangent):
        with pytest.raises(NotImplementedError, match="clamp clips gradients only in reverse mode"):
            transformed(lattice())


@pytest.mark.parametrize("mode", [lambda: torch.device("cpu"), torch.autograd.forward_ad.dual_level])
def test_gradients_of_rnnt_are_bounded_within_modes_that_do_not_transform(mode):
    with mode():
        leaf = lattice().requires_grad_()
        loss = strukt.rnnt_loss(leaf, WORDS, FRAME_LENGTHS, TARGET_LENGTHS, clamp=0.1, reduction="sum")
        (gradient,) = torch.autograd.grad(loss, leaf)
    assert gradient.abs().max() == 0.1


def test_rnnt_is_the_same_in_blocks_of_frames(monkeypatch):
    given = WORDS, FRAME_LENGTHS, TARGET_LENGTHS
    whole, blocks = lattice().requires_grad_(), lattice().requires_grad_()
    loss = strukt.rnnt_loss(whole, *given)
    monkeypatch.setattr(softmax, "BLOCK", 40)  # two frames
    other = strukt.rnnt_loss(blocks, *given)
    assert torch.allclose(loss, other, rtol=1e-14)
    (one,), (two,) = torch.autograd.grad(loss, whole), torch.autograd.grad(other, blocks)
    assert torch.allclose(one, two, rtol=1e-14)


def test_rnnt_of_no_frames():
    loss = strukt.rnnt_loss(lattice()[:2, :0], WORDS[:2], (0, 0), (0, 1), reduction="none")
    assert loss.tolist() == [0.0, math.inf]


def test_rnnt_reads_no_padding():
    scores = lattice()
    given = WORDS, FRAME_LENGTHS, TARGET_LENGTHS
    frame = torch.arange(4)[:, None] >= FRAME_LENGTHS[:, None, None]
    beyond = (frame | (torch.arange(4) > TARGET_LENGTHS[:, None, None])).unsqueeze(-1)
    padded = scores.masked_fill(beyond, math.nan).requires_grad_()
    loss = strukt.rnnt_loss(padded, *given)
    assert torch.allclose(loss, strukt.rnnt_loss(scores, *given))
    (gradient,) = torch.autograd.grad(loss, padded)
    assert (gradient.masked_select(beyond) == 0).all()
    assert torch.isfinite(gradient).all()


def test_rnnt_bounds_the_gradient_of_each_item_before_the_mean():
    given = WORDS, FRAME_LENGTHS, TARGET_LENGTHS
    plain, bounded = lattice().requires_grad_(), lattice().requires_grad_()
    (gradient,) = torch.autograd.grad(strukt.rnnt_loss(plain, *given, reduction="sum"), plain)
    loss = strukt.rnnt_loss(bounded, *given, clamp=0.1)
    (cut,) = torch.autograd.grad(loss, bounded)
    assert torch.allclose(loss, strukt.rnnt_loss(plain, *given))
    assert torch.allclose(cut, gradient.clamp(-0.1, 0.1) / 4)
    assert (gradient.abs() > 0.1).any()


def test_rnnt_blank_is_counted_from_the_end():
    words = torch.tensor([[1, 2, 1]]).expand(4, 3)
    given = FRAME_LENGTHS, TARGET_LENGTHS
    last = strukt.rnnt_loss(lattice(), words, *given, blank=-1)
    assert torch.equal(last, strukt.rnnt_loss(lattice(), words, *given, blank=3))
    first = strukt.rnnt_loss(lattice(), words, *given, blank=0)
    assert torch.equal(first, strukt.rnnt_loss(lattice(), words, *given, blank=-4))
    assert not torch.isclose(first, last)


def test_rnnt_of_float32_and_half():
    given = WORDS, FRAME_LENGTHS, TARGET_LENGTHS
    exact = strukt.rnnt_loss(lattice(), *given)
    single = strukt.rnnt_loss(lattice().float(), *given)
    assert single.dtype == torch.float32
    assert torch.allclose(single.double(), exact, rtol=1e-5)
    half = lattice().to(torch.bfloat16).requires_grad_()
    loss = strukt.rnnt_loss(half, *given)
    loss.backward()
    assert half.grad.dtype == torch.bfloat16
    assert torch.allclose(loss.double(), exact, rtol=1e-2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"logits": torch.zeros(4, 4, 4)}, r"logits has shape \(4, 4, 4\); expected \(B, T, U \+ 1, V\)"),
        ({"targets": WORDS[:, :2]}, r"targets has shape \(4, 2\); expected \(4, 3\)"),
        ({"targets": WORDS + 1}, "targets holds 3 at batch item 0, position 1.*other than the blank, which is 3"),
        ({"targets": WORDS.float()}, "targets is of type torch.float32"),
        ({"logits": torch.full((4, 4, 4, 4), torch.nan)}, "logits, as log-probabilities of moves, holds nan at"),
        ({"logit_lengths": (5, 1, 1, 1)}, "logit_lengths holds 5 .*expected 0 to 4"),
        ({"target_lengths": (4, 1, 1, 1)}, "target_lengths holds 4 .*expected 0 to 3"),
        ({"blank": 4}, "blank is 4; expected one of the labels"),
        ({"blank": -5}, "blank is -5; expected one of the labels"),
        ({"reduction": "max"}, "reduction is 'max'; expected 'none', 'mean' or 'sum'"),
    ],
)
def test_wrong_arguments_of_rnnt_are_named(change, message):
    given = {
        "logits": torch.zeros(4, 4, 4, 4),
        "targets": WORDS,
        "logit_lengths": FRAME_LENGTHS,
        "target_lengths": TARGET_LENGTHS,
    } | change
    with pytest.raises(ValueError, match=message):
        strukt.rnnt_loss(**given)
