"""Laws of gradients through structures: relaxed samples, straight-through, implicit maximum likelihood (I-MLE)."""

from __future__ import annotations

import torch
from torch.autograd import grad, gradcheck

from strukt.testing.comparison import agree, demand
from strukt.testing.law import law
from strukt.testing.subject import Subject

STEP = 2.0


@law("mode", "marginals", "rsample_relaxed")
def relaxed_samples_become_structures(subject: Subject) -> None:
    """Compare relaxed samples at a low temperature with the parts of the best structure under the same noise."""
    case = subject.case()
    distribution = case.distribution()
    torch.manual_seed(0)
    events = distribution.perturb_and_map((3,))
    torch.manual_seed(0)
    relaxed = distribution.rsample_relaxed(1e-5, (3,))
    parts = distribution.expand(torch.Size((3, *case.batch_shape))).to_parts(events)
    for sample, truth in zip(relaxed, parts, strict=True):
        agree(case, "a relaxed sample at a low temperature is a structure", sample, truth)


@law("marginals", "rsample_relaxed")
def relaxed_samples_are_differentiable(subject: Subject) -> None:
    """Check the derivatives of relaxed samples numerically, with the noise held fixed."""
    case = subject.case((2,)).leaves()

    def relaxed(*scores: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(0)
        return case.with_scores(scores).distribution().rsample_relaxed(0.7)

    demand(gradcheck(relaxed, case.scores, raise_exception=False), case, "relaxed samples pass gradcheck")


@law("mode", "marginals", "rsample_relaxed")
def straight_through_is_discrete_and_differentiable(subject: Subject) -> None:
    """Compare straight-through samples with structures, and their gradients with those of relaxed samples."""
    case = subject.case().leaves()
    distribution = case.distribution()
    result = []
    for straight_through in (False, True):
        torch.manual_seed(0)
        result.append(distribution.rsample_relaxed(0.5, straight_through=straight_through))
    weights = torch.randn(result[0].shape, generator=torch.Generator().manual_seed(1), dtype=result[0].dtype)
    expected, actual = (
        grad((value * weights).sum(), case.scores[0], retain_graph=True)[0] for value in result
    )
    torch.manual_seed(0)
    parts = distribution.to_parts(distribution.perturb_and_map())
    demand(torch.equal(result[1].detach(), parts), case, "straight-through samples are structures")
    agree(case, "its gradient is that of the relaxed sample", actual, expected)


@law("mode")
def implicit_gradients_are_differences_of_structures(subject: Subject) -> None:
    """Compare implicit gradients with (sample - best structure after a step) / step, under the same noise."""
    case = subject.case().leaves()
    distribution = case.distribution()
    torch.manual_seed(0)
    parts = distribution.rsample_implicit(STEP)
    weights = torch.randn(parts.shape, generator=torch.Generator().manual_seed(1), dtype=parts.dtype)
    (gradient,) = grad((parts * weights).sum(), case.scores[0])
    moved = case.with_scores([(case.scores[0] - STEP * weights).detach(), *case.scores[1:]]).distribution()
    torch.manual_seed(0)
    asked = moved.to_parts(moved.perturb_and_map())
    agree(case, "the implicit gradient", gradient, (parts.detach() - asked) / STEP)
