"""Structures so large that several warps and blocks work on an item, as tests on a GPU need them to show races."""

import functools
from dataclasses import replace

import torch
from tests.kernels.engine.gpu.device import DEVICE, LAST, by_kernels, on_device

from strukt.distributions import CTC
from strukt.testing.subjects import STRUCTURES
from strukt.testing.subjects.scores import normal

ITEMS, TARGET, LABELS = 16, 20, 16


@functools.cache
def targets(batch, device):
    """Random targets, made once: a copy to the device would wait for it."""
    generator = torch.Generator().manual_seed(2)
    return torch.randint(1, LABELS, (*batch, TARGET), generator=generator).to(device)


def ctc(logits, lengths=None, validate_args=None):
    """CTC of a random target; items of few frames have a short one."""
    batch = logits.shape[:-2]
    frames = torch.full(batch, logits.shape[-2], device=logits.device) if lengths is None else lengths
    return CTC(logits, targets(batch, logits.device), frames, (frames // 2).clamp(max=TARGET), 0, validate_args)


def chains(generator, batch, size):
    return normal(generator, *batch, size, 16), normal(generator, 16, 16)


def segments(generator, batch, size):
    return normal(generator, *batch, size, 8, 8), normal(generator, *batch, 8, 8)


def spans(generator, batch, size):
    return (normal(generator, *batch, size + 1, size + 1, 8),)


def frames(generator, batch, size):
    return (normal(generator, *batch, size, LABELS),)


KERNELS = {
    subject.name.split(",")[0]: subject
    for subject in STRUCTURES
    if subject.name.split(",")[0] in ("NonProjectiveTree", "PCFG", "SpanningTree")
}
"""Structures with kernels of their own only, for trees."""

NAMES = (*LAST, *KERNELS)

SUBJECTS = LAST | KERNELS | {
    "LinearChain": replace(LAST["LinearChain"], draw=chains),
    "SemiMarkov": replace(LAST["SemiMarkov"], draw=segments),
    "SpanTree": replace(LAST["SpanTree"], draw=spans),
    "CTC": replace(LAST["CTC"], draw=frames, make=ctc),
}

SIZES = {"LinearChain": 50, "CTC": 80, "SemiMarkov": 40, "ProjectiveTree": 30, "SpanTree": 30}
OTHERS = 12
"""The size of structures of which items take many times their square."""

SEVERAL = ("CTC", "LinearChain", "ProjectiveTree", "SemiMarkov", "SpanTree")
"""Structures that most people use, for tests of what does not depend on the table."""


def middling(name, dtype=torch.float32, smooth=True, seed=0):
    """A batch of items of mixed lengths, on the device."""
    size = SIZES.get(name, OTHERS)
    case = SUBJECTS[name].case((ITEMS,), lengths=[size, size, size - 1, size // 2, 1, 0], size=size, seed=seed)
    return on_device(case.map(lambda score: score.to(dtype)), smooth)


def on_cpu(case):
    """The case on the CPU, in float64."""
    scores = tuple(score.detach().cpu().double().requires_grad_() for score in case.scores)
    return replace(case, scores=scores, lengths=case.lengths.cpu())


def gradient(value, scores, create_graph=False):
    """The gradient of the sum of a value with fixed factors."""
    factors = torch.linspace(0.5, 1.5, value.numel(), dtype=value.dtype, device=value.device)
    total = (torch.where(torch.isfinite(value), value, 0.0) * factors.reshape(value.shape)).sum()
    return torch.autograd.grad(total, scores, create_graph=create_graph)


def log_prob(case, event):
    """The log-probabilities of events, and the gradient of their sum."""
    value = case.distribution(validate_args=False).log_prob(event)
    return [value.detach(), *gradient(value, case.scores)]


def _with_gradient(question):
    def answer(case):
        value = question(case.distribution(validate_args=False))
        return [value.detach(), *gradient(value, case.scores)]

    return answer


def _without_gradient(question):
    def answer(case):
        with torch.no_grad():
            return [question(case.distribution(validate_args=False))]

    return answer


def _drawn(distribution):
    torch.manual_seed(0)
    return distribution.sample((10,))


SMOOTH = {
    "log_partition": _with_gradient(lambda d: d.log_partition),
    "marginals": _with_gradient(lambda d: d.marginals),
    "entropy": _with_gradient(lambda d: d.entropy()),
    "max_marginals": _without_gradient(lambda d: d.max_marginals),
    "max_score": _without_gradient(lambda d: d.max_score),
}
EVENTS = {
    "mode": _without_gradient(lambda d: d.mode),
    "topk": _without_gradient(lambda d: d.topk(5).events),
    "sample": _without_gradient(_drawn),
}
QUESTIONS = SMOOTH | EVENTS
"""Functions of a case to a list of tensors: the answer, and its gradient where it has one."""


def answers(case, questions=QUESTIONS):
    """The answers to questions by name, from the kernels for GPUs."""
    return {name: by_kernels(question, case) for name, question in questions.items()}


def differences(mine, right, tolerance=None):
    """What differs, as lines of text: the question, the order of the derivative, how much and where.

    Args:
        mine: Lists of tensors by the name of their question.
        right: The same.
        tolerance: The largest difference relative to the largest number of a tensor, or to 1; if None, all bits
            must be equal.
    """
    lines = []
    for name, tensors in mine.items():
        for order, (given, expected) in enumerate(zip(tensors, right[name], strict=True)):
            wrong = _wrong(given.detach().cpu().double(), expected.detach().cpu().double(), tolerance)
            if wrong:
                lines.append(f"{name}, tensor {order}: {wrong}")
    return lines


ATOMIC = {("CTC", "marginals"), ("CTC", "entropy"), ("LinearChain", "log_prob")}
"""Gradients that atomic additions sum up: over the places of a label, and over items that share transitions."""


def changes(name, mine, right):
    """What differs in any bit, or in more than rounding where the order of additions is open."""
    return [
        line
        for question in mine
        for line in differences(
            {question: mine[question]}, right, 1e-6 if (name, question) in ATOMIC else None
        )
    ]


def _wrong(mine, right, tolerance):
    finite = torch.isfinite(right)
    scale = right[finite].abs().max().clamp(min=1).item() if finite.any() else 1.0
    apart = torch.where(mine == right, 0.0, (mine - right).abs() / scale)
    wrong = ~(apart <= (tolerance or 0.0))  # also where one is NaN
    if not wrong.any():
        return None
    first = torch.where(wrong, apart.nan_to_num(torch.inf, torch.inf), -1.0).argmax()
    place = tuple(int(each) for each in torch.unravel_index(first, mine.shape))
    return (
        f"{int(wrong.sum())} of {wrong.numel()} numbers, the worst at {place} {mine[place].item()} instead of "
        f"{right[place].item()}, {apart[place].item():.1e} relative to {scale:.3g}"
    )


def poison():
    """Fill the memory that PyTorch keeps for later with NaN; on a CPU there is none."""
    if DEVICE == "cpu":
        return
    held = []
    for size in (1 << power for power in range(26, 8, -1)):
        reserved = torch.cuda.memory_reserved()
        while torch.cuda.memory_reserved() == reserved:
            held.append(torch.full((size // 8,), torch.nan, dtype=torch.float64, device=DEVICE))
