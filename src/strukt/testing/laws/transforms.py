"""Laws of PyTorch's transforms: no_grad, inference_mode, torch.func, torch.compile, half precision."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import methodcaller

import torch
from torch import Tensor

from strukt.kernels.semiring import NEG_INF
from strukt.testing.comparison import agree, demand
from strukt.testing.law import law
from strukt.testing.operators import operators, random_arguments, smooth_operators
from strukt.testing.patterns import forbid_at_random
from strukt.testing.subject import Case, Subject


@law()
def graphs_are_built_only_when_asked_for(subject: Subject) -> None:
    """Check that no_grad and inference_mode build no graph, and that cached results do not affect later calls."""
    case = subject.case().leaves()
    arguments = random_arguments(case)
    for operator in smooth_operators(case):
        expected = operator.of(case.distribution(), arguments)
        demand(expected.requires_grad, case, f"{operator.name} is differentiable")
        for mode in (torch.no_grad, torch.inference_mode):
            distribution = case.distribution()
            with mode():
                value = operator.of(distribution, arguments)
            demand(not value.requires_grad, case, f"{operator.name} under {mode.__name__} builds no graph")
            agree(case, f"{operator.name} under {mode.__name__}", value, expected.detach())
            again = operator.of(distribution, arguments)
            claim = f"{operator.name} is differentiable after use under {mode.__name__}"
            demand(again.requires_grad, case, claim)


@law("log_partition", "marginals", "mode", "sample")
def inference_mode_covers_construction(subject: Subject) -> None:
    """Check that distributions can be built and used inside inference_mode."""
    case = subject.case()
    with torch.inference_mode():
        distribution = case.distribution()
        distribution.sample()
        marginals = case.stack([table.marginals for table in case.tables])
        agree(case, "marginals under inference_mode", distribution.marginals, marginals)
        demand(torch.equal(distribution.mode, case.distribution().mode), case, "mode under inference_mode")


@law("log_partition", "marginals")
def functional_transforms_work(subject: Subject) -> None:
    """Check torch.func.grad, vmap (also over no items), their composition, jacrev, jacfwd and hessian."""
    case = forbid_at_random(subject.case((3,), lengths=[subject.size, 2, 1]))
    lengths, scores, distribution = case.lengths, case.scores, case.distribution()
    log_partition, marginals = _member(case, "log_partition"), _member(case, "marginals")
    slope = torch.func.grad(lambda *inputs: log_partition(*inputs).sum(), argnums=1)
    curvature = torch.func.jacrev(slope, argnums=1)
    jacobian = torch.func.jacrev(marginals, argnums=1)
    agree(case, "grad of log_partition", slope(lengths, *scores), distribution.marginals)
    for name, function, right in (
        ("log_partition", log_partition, distribution.log_partition),
        ("marginals", marginals, distribution.marginals),
        ("grad of log_partition", slope, distribution.marginals),
    ):
        agree(case, f"vmap of {name}", _over_items(case)(function)(lengths, *scores), right)
        empty = _over_items(case, None)(function)(lengths[0], *_without_items(case))
        demand(empty.shape == (0, *right.shape[1:]), case, f"vmap of {name} over no items")
    agree(case, "jacrev of marginals is the Hessian", jacobian(lengths, *scores), curvature(lengths, *scores))
    hessian = torch.func.hessian(lambda *inputs: log_partition(*inputs).sum(), argnums=1)
    agree(case, "hessian of log_partition", hessian(lengths, *scores), curvature(lengths, *scores))
    forward = torch.func.jacfwd(marginals, argnums=1)
    agree(case, "jacfwd of marginals", forward(lengths, *scores), curvature(lengths, *scores))


@law("mode", "max_marginals")
def best_structures_are_mapped_over_items(subject: Subject) -> None:
    """Check torch.vmap of the best score and of max-marginals, and torch.func.grad of the latter."""
    case = forbid_at_random(subject.case((3,), lengths=[subject.size, 2, 1]))
    lengths, scores, distribution = case.lengths, case.scores, case.distribution()
    max_score, best_with_each = _member(case, "max_score"), _member(case, "max_marginals")
    expected = distribution.max_marginals
    agree(case, "vmap of max_score", _over_items(case)(max_score)(lengths, *scores), distribution.max_score)
    agree(case, "vmap of max_marginals", _over_items(case)(best_with_each)(lengths, *scores), expected)
    leaves = case.leaves()
    possible = expected > NEG_INF
    (gradient,) = torch.autograd.grad(leaves.distribution().max_marginals[possible].sum(), leaves.scores[:1])
    slope = torch.func.grad(lambda *inputs: best_with_each(*inputs)[possible].sum(), argnums=1)
    agree(case, "grad of max_marginals", slope(lengths, *scores), gradient)


@law("log_partition", "marginals", "mode")
def compiled_equals_eager(subject: Subject) -> None:
    """Compare compiled log-partition, marginals, gradients and mode, without graph breaks, with eager ones."""
    case = subject.case((2,), lengths=[subject.size, 2]).map(Tensor.float)

    def work(lengths: Tensor, *scores: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        distribution = subject.make(*scores, lengths=lengths)
        return distribution.log_partition, distribution.marginals, distribution.mode

    leaves = case.leaves()
    torch.compiler.reset()
    compiled = torch.compile(work, backend="aot_eager", fullgraph=True)
    log_partition, marginals, mode = compiled(leaves.lengths, *leaves.scores)
    (gradient,) = torch.autograd.grad(log_partition.sum(), leaves.scores[:1], retain_graph=True)
    (curvature,) = torch.autograd.grad(marginals.square().sum(), leaves.scores[:1])
    expected = leaves.distribution()
    (expected_curvature,) = torch.autograd.grad(expected.marginals.square().sum(), leaves.scores[:1])
    agree(case, "compiled log_partition", log_partition, expected.log_partition)
    agree(case, "compiled marginals", marginals, expected.marginals)
    agree(case, "gradient of the compiled log_partition", gradient, expected.marginals)
    agree(case, "gradient of the compiled marginals", curvature, expected_curvature)
    demand(torch.equal(mode, expected.mode), case, "compiled mode")


@law()
def half_types_are_computed_in_float32(subject: Subject) -> None:
    """Compare half precision with float32 on equal scores: results are float32, gradients have the scores' type.

    The best structure and samples after the same seed must be equal.
    """
    for dtype in (torch.float16, torch.bfloat16):
        half = subject.case().map(methodcaller("to", dtype)).leaves()
        full = half.map(Tensor.float)
        arguments = random_arguments(full)
        for operator in operators(half):
            value, expected = (operator.of(case.distribution(), arguments) for case in (half, full))
            claim = f"{operator.name} of {dtype} scores"
            demand(value.dtype == torch.float32, half, f"{claim} is float32, not {value.dtype}")
            demand(torch.equal(value, expected), half, f"{claim} is computed in float32")
            if operator.smooth:
                gradients = torch.autograd.grad(value.sum(), half.scores, materialize_grads=True)
                narrow = all(gradient.dtype == dtype and gradient.isfinite().all() for gradient in gradients)
                demand(narrow, half, f"{operator.name}: gradients in {dtype}")
        for name in {"mode", "sample"} - subject.lacks:
            event, expected = (_event(case, name) for case in (half, full))
            demand(torch.equal(event, expected), half, f"{name} of {dtype} scores is that in float32")


def _event(case: Case, name: str) -> Tensor:
    """Return the best structure, or a sample after a fixed seed."""
    torch.manual_seed(0)
    distribution = case.distribution()
    return distribution.mode if name == "mode" else distribution.sample()


def _without_items(case: Case) -> list[Tensor]:
    """Return the scores of a case, with a batch of size 0; scores that items share are unchanged."""
    dimensions = case.subject.arguments.values()
    return [score[:0] if score.dim() > d else score for score, d in zip(case.scores, dimensions, strict=True)]


def _over_items(case: Case, of_lengths: int | None = 0) -> Callable[..., Callable[..., Tensor]]:
    """Return ``torch.vmap`` over the first axis of scores that items do not share.

    It also maps over lengths if ``of_lengths`` is 0; if None, all items have the same length.
    """
    dimensions = case.subject.arguments.values()
    batched = [0 if score.dim() > d else None for score, d in zip(case.scores, dimensions, strict=True)]
    return partial(torch.vmap, in_dims=(of_lengths, *batched))


def _member(case: Case, name: str) -> Callable[..., Tensor]:
    """Return a member as a function of lengths and scores."""
    return lambda lengths, *scores: getattr(case.subject.make(*scores, lengths=lengths), name)
