"""Devices without kernels get steps from an executor: equal to the reference, by few operations of PyTorch."""

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

import strukt
from strukt.kernels import dispatch, jit
from strukt.kernels.autograd import as_tuple
from strukt.kernels.dispatch import executor, using
from strukt.testing.subjects import STRUCTURES

KINDS = {
    "BitSpanTree", "CTC", "CheckpointedChain", "KSubset", "LexicalisedTree", "LinearChain", "MonotoneAlignment",
    "NonProjectiveTree", "ProjectiveTree", "SecondOrderTree", "SemiMarkov", "SpanTree", "SpanningTree",
    "TableStructure", "Transducer",
}  # fmt: skip

SUBJECTS = [
    subject
    for subject in STRUCTURES
    if subject.name.split(",")[0] in KINDS and not subject.name.startswith("NonProjectiveTree, labelled")
]
"""Structures with an executor; those of arcs with labels ask it about sums over the labels."""

VIEWS = {
    "as_strided", "alias", "detach", "diagonal", "empty", "empty_like", "empty_strided", "expand", "flatten",
    "narrow", "new_empty", "new_empty_strided", "numpy_T", "permute", "reshape", "resize_", "select", "slice",
    "squeeze", "to", "transpose", "unsqueeze", "view",
}  # fmt: skip
"""Operations that launch nothing."""


def changed(case, change):
    """A case with changed scores."""
    generator = torch.Generator().manual_seed(3)
    return case.map(lambda score: change(score.detach().clone(), generator).requires_grad_())


def wide(score, generator):
    return score * 300.0


def with_forbidden_parts(score, generator):
    return score.masked_fill(torch.rand(score.shape, generator=generator) < 0.15, -torch.inf)


def of_executor(case):
    """Log-partitions and weighted marginals; None where there is no executor for the scores."""
    distribution = case.distribution(validate_args=False)
    arguments = [each.detach() if torch.is_tensor(each) else each for each in distribution._arguments()]
    backend = executor(distribution.oracles.name)
    if not backend.fits(*arguments):
        return None
    total, chart = backend.inside(*arguments)
    assert tuple(chart.shape) == tuple(backend.chart_shape(*arguments))
    weights = torch.linspace(0.5, 1.5, len(total), dtype=total.dtype)
    return total, *as_tuple(backend.outside(*arguments, weights, chart))


def of_reference(case):
    distribution = case.distribution(validate_args=False)
    oracles, arguments = distribution.oracles, distribution._arguments()
    with using("reference"):
        total, chart = oracles.inside(*arguments)
        weights = torch.linspace(0.5, 1.5, len(total), dtype=total.dtype)
        return total, *as_tuple(oracles.outside(*arguments, weights, chart))


@pytest.mark.parametrize("change", [None, wide, with_forbidden_parts])
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
def test_equals_the_reference(subject, change):
    for size in (2, 5):
        case = subject.case((4,), lengths=[size, size, size - 1, 0], size=size)
        case = case if change is None else changed(case, change)
        result = of_executor(case)
        if result is not None:
            for mine, expected in zip(result, of_reference(case), strict=True):
                torch.testing.assert_close(mine, expected, rtol=1e-10, atol=1e-10)


ROUNDED = {"CTC", "LinearChain", "MonotoneAlignment", "SemiMarkov", "Transducer"}
"""Structures whose tables are for sizes rounded up."""


@pytest.mark.parametrize(
    "subject", [each for each in SUBJECTS if each.name.split(",")[0] in ROUNDED], ids=lambda subject: subject.name
)
def test_sizes_that_are_rounded_up(poisoned_memory, subject):
    """The table is for 10 positions, and the padding of the scores up to this size is not read."""
    case = changed(subject.case((4,), lengths=[9, 9, 8, 1], size=9), with_forbidden_parts)
    result = of_executor(case)
    for mine, expected in zip(result, of_reference(case), strict=True):
        torch.testing.assert_close(mine, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", sorted(ROUNDED))
def test_similar_sizes_have_one_table(name):
    def sizes(size):
        case = next(each for each in SUBJECTS if each.name.startswith(name)).case((1,), size=size)
        layout = executor(case.distribution().oracles.name)._layout
        scores, _, options = layout._split(case.distribution()._arguments())
        return layout._sizes(scores, options)

    assert len({str(sizes(size)) for size in range(34, 40)}) <= 2  # targets of CTC grow, too
    assert sizes(32) != sizes(36) != sizes(41)


def test_padding_is_not_read():
    unary, transition = torch.randn(2, 5, 3, dtype=torch.float64), torch.randn(2, 4, 3, 3, dtype=torch.float64)
    lengths = torch.tensor([5, 3])

    def answers():
        return executor(strukt.LinearChain.oracles.name).inside(unary, transition, lengths)

    expected, _ = answers()
    unary[1, 3:], transition[1, 2:] = torch.nan, torch.nan
    result, chart = answers()
    assert torch.equal(result, expected)
    backend, ones = executor(strukt.LinearChain.oracles.name), torch.ones(2, dtype=torch.float64)
    assert all(grad.isfinite().all() for grad in backend.outside(unary, transition, lengths, ones, chart))


def test_float32_is_computed_in_float64():
    scores = torch.randn(2, 30, 31)
    trees, precise = (strukt.ProjectiveTree(each) for each in (scores, scores.double()))
    backend = executor(trees.oracles.name)
    (total, chart), (expected, _) = (backend.inside(*each._arguments()) for each in (trees, precise))
    assert (total.dtype, chart.dtype) == (torch.float32, torch.float64)
    assert torch.equal(total, expected.float())


TARGETS = torch.randint(1, 32, (16, 50), generator=torch.Generator().manual_seed(0))

LARGE = {
    "chain 32x128x32": (lambda *scores: strukt.LinearChain(*scores), [(32, 128, 32), (32, 32)]),
    "segments 8x128x8x16": (lambda *scores: strukt.SemiMarkov(*scores), [(8, 128, 8, 16), (16, 16)]),
    "projective trees 16x40": (strukt.ProjectiveTree, [(16, 40, 41)]),
    "span trees 16x40x32": (strukt.SpanTree, [(16, 41, 41, 32)]),
    "CTC 16x200x32": (lambda logits: strukt.CTC(logits, TARGETS), [(16, 200, 32)]),
    "Matrix-Tree 16x40": (strukt.NonProjectiveTree, [(16, 40, 41)]),
}
"""Structures, and the shapes of their scores."""

LONG = {"segments 8x128x8x16", "CTC 16x200x32"}
"""Those whose operations the profiler records for seconds."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in LONG else ()) for name in LARGE]
)
def test_a_step_takes_at_most_1500_launches(name):
    """References take 6,800 to 25,800."""
    make, shapes = LARGE[name]
    generator = torch.Generator().manual_seed(0)
    distribution = make(*(torch.randn(shape, generator=generator) for shape in shapes))
    backend, arguments = executor(distribution.oracles.name), distribution._arguments()
    with profile(activities=[ProfilerActivity.CPU]) as record:
        total, chart = backend.inside(*arguments)
        grads = as_tuple(backend.outside(*arguments, torch.ones_like(total), chart))
    assert launches(record) <= 1500
    leaves = [score.requires_grad_() for score in distribution.scores]
    expected = distribution.log_partition
    torch.testing.assert_close(total, expected.detach())
    for grad, other in zip(grads, torch.autograd.grad(expected.sum(), leaves), strict=True):
        torch.testing.assert_close(grad.sum_to_size(other.shape), other, rtol=1e-4, atol=1e-6)


def launches(record):
    """The number of operations of a profile that are no views and have no other operations inside."""

    def counts(event):
        return event.name.startswith("aten::") and event.name.removeprefix("aten::") not in VIEWS

    return sum(counts(event) and not any(map(counts, event.cpu_children)) for event in record.events())


class OnAccelerator(torch.Tensor):
    is_cpu = False


@pytest.mark.parametrize(
    ("backend", "numba", "taken"), [("reference", None, True), ("", "no numba", True), ("", None, False)]
)
def test_devices_without_kernels_and_without_those_of_the_cpu_take_it(monkeypatch, backend, numba, taken):
    monkeypatch.setattr(jit, "UNAVAILABLE", numba)
    monkeypatch.setattr(dispatch, "chosen", lambda: backend)
    scores, package = torch.zeros(2, 3, 4).as_subclass(OnAccelerator), strukt.ProjectiveTree.oracles.name
    assert (dispatch.select(package, scores, torch.tensor([3, 3]), True) is executor(package)) is taken
    assert dispatch.select("strukt.kernels.sparsemax_entmax", scores) is None


def test_no_structure_has_no_gradient():
    scores = torch.full((2, 2, 3), -torch.inf, dtype=torch.float64)
    scores[0, :, 0] = scores[0, 0, 2] = 0.0
    for structure in (strukt.ProjectiveTree, strukt.NonProjectiveTree):
        trees = structure(scores, validate_args=False)
        backend, arguments = executor(trees.oracles.name), trees._arguments()
        total, chart = backend.inside(*arguments)
        grad = backend.outside(*arguments, torch.ones_like(total), chart)
        assert total[1] == -torch.inf
        assert not grad[1].any()
        assert grad[0].sum() == 2
