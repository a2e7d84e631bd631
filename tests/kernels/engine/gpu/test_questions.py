"""Every question about a table, with its derivatives, has the answer on a GPU that it has on the CPU.

Without a GPU the kernels run in Triton's interpreter, and only the structures that have tables are asked.
"""

import pytest
import torch
from tests.kernels.engine.gpu.device import (
    DEVICE,
    LAST,
    ON_GPU,
    TABLES,
    asked_there,
    by_kernels,
    needed,
    on_device,
)

from strukt.distributions import LinearChain, ProjectiveTree, TableStructure
from strukt.kernels import dispatch
from strukt.structures.projective_tree import eisner
from strukt.testing.operators import OPERATORS, operators, random_arguments
from strukt.testing.subjects import STRUCTURES
from strukt.testing.subjects.tables import foldings

pytestmark = needed

QUICK = {
    "log_partition": {"BitSpanTree"},
    "max_marginals": {"SpanTree"},
    "cross_entropy": {"SpanTree"},
}
"""Questions that the interpreter is asked in CI, and about which structures; the kernels of all are the same."""

SHORT = {"SpanTree"}
"""Structures whose questions the interpreter is asked in CI; chains have kernels and tests of their own."""

SLOW = pytest.mark.slow
DRAWS = 100 if ON_GPU else 2


def direction(like, generator):
    """The same on every device."""
    return torch.randn(like.shape, generator=generator, dtype=like.dtype).to(like.device)


def answers(case, operator, asked):
    """The value of an operator, its gradient, and the gradient of that along a fixed direction."""
    value = operator.of(case.distribution(), asked)
    if not operator.smooth or not value.requires_grad:
        return [value.detach()]
    generator = torch.Generator().manual_seed(5)
    finite = torch.where(torch.isfinite(value), value, 0.0)
    grads = torch.autograd.grad(finite, case.scores, direction(value, generator), create_graph=True)
    total = sum((grad * direction(grad, generator)).sum() for grad in grads)
    seconds = ()
    if total.requires_grad:
        seconds = torch.autograd.grad(total, case.scores, allow_unused=True, materialize_grads=True)
    return [each.detach() for each in (value, *grads, *seconds)]


def with_nan_in_padding(case):
    """A case of which nobody may read the padding."""
    pairs = zip(case.scores, case.padding(), strict=True)
    return case.with_scores(torch.where(padding, torch.nan, score) for score, padding in pairs)


def agree(case, operator, relative, absolute):
    asked = random_arguments(case)
    there = answers(case.leaves(), operator, asked)
    moved = on_device(with_nan_in_padding(case), operator.smooth)  # no kernel has max-marginals with a gradient
    here = by_kernels(answers, moved, operator, asked_there(case, asked))
    for order, (mine, right) in enumerate(zip(here, there, strict=True)):
        assert mine.device.type == DEVICE
        assert torch.allclose(mine.cpu(), right, relative, absolute, equal_nan=True), (operator.name, order)


def is_slow(subject, operator):
    """Slow in the interpreter are most questions, and those about all options of a structure but the last ones."""
    kind = subject.name.split(",")[0]
    quick = kind in QUICK.get(operator.name, ())
    return not ON_GPU and (not quick or subject is not LAST[kind])


@pytest.mark.parametrize(
    ("subject", "operator"),
    [
        pytest.param(
            subject,
            operator,
            id=f"{operator.name}-{subject.name}",
            marks=SLOW if is_slow(subject, operator) else (),
        )
        for subject in (STRUCTURES if ON_GPU else TABLES)
        for operator in OPERATORS
        if operator.name not in subject.lacks
    ],
)
def test_equal_those_of_the_cpu(subject, operator):
    case = subject.case((2, 3)) if ON_GPU else subject.case((3,), size=3)
    assert operator in operators(case)
    agree(case, operator, 1e-11, 1e-11)
    if ON_GPU:
        agree(case.map(torch.Tensor.float), operator, 1e-5, 1e-5)


SOME = [
    pytest.param(each, id=each.name, marks=() if ON_GPU or each.name.split(",")[0] in SHORT else SLOW)
    for each in LAST.values()
]


@pytest.mark.parametrize("subject", SOME)
def test_float32_scores_far_apart(subject):
    """Scores of deviation 300, of which some are -inf."""
    generator = torch.Generator().manual_seed(1)

    def some_forbidden(score):
        forbidden = torch.rand(score.shape, generator=generator) < 0.1
        return torch.where(forbidden, -torch.inf, 300 * score).float()

    case = subject.case((3,), size=3).map(some_forbidden)
    exact = case.map(torch.Tensor.double).distribution()

    def found():
        here = on_device(case).distribution()
        return here.log_partition.detach().cpu(), here.marginals.detach().cpu()

    log_partition, marginals = by_kernels(found)
    assert (exact.log_partition > -torch.inf).any()
    assert torch.allclose(log_partition.double(), exact.log_partition, rtol=1e-6)
    assert torch.allclose(marginals.double(), exact.marginals, atol=1e-5)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if ON_GPU or name == "LinearChain" else SLOW) for name in LAST]
)
def test_a_training_step(name):
    """The gradient of one loss, where the parts of events are subtracted from the marginals in place."""
    case = LAST[name].case((3,), size=3)
    event = case.distribution().mode

    def gradients(case, event):
        loss = -case.distribution().log_prob(event).mean()
        return loss.detach(), *torch.autograd.grad(loss, case.scores)

    found = by_kernels(gradients, on_device(case), event.to(DEVICE))
    for mine, right in zip(found, gradients(case.leaves(), event), strict=True):
        assert torch.allclose(mine.cpu(), right, 1e-10, 1e-10)


@pytest.mark.parametrize(
    ("scale", "dtype"),
    [
        pytest.param(scale, dtype, marks=() if ON_GPU or (scale, dtype) == (9e8, torch.float32) else SLOW)
        for scale in (-9e8, -3e5, 3e5, 9e8)
        for dtype in (torch.float32, torch.float64)
    ],
)
def test_totals_up_to_ten_billion(scale, dtype):
    unary = torch.tensor([[1.0, 0.999]], dtype=dtype).expand(2, 12, 2) * scale
    exact = LinearChain(unary.double(), torch.zeros(2, 2, dtype=torch.float64))

    def found():
        here = LinearChain(unary.to(DEVICE), torch.zeros(2, 2, dtype=dtype).to(DEVICE))
        return here.log_partition.cpu(), here.marginals.cpu()

    log_partition, marginals = by_kernels(found)
    assert torch.allclose(log_partition.double(), exact.log_partition, rtol=1e-6)
    assert torch.allclose(marginals.double(), exact.marginals, atol=1e-5)


@pytest.mark.parametrize(
    "subject",
    [pytest.param(each, id=each.name, marks=() if ON_GPU else SLOW) for each in LAST.values()],
)
def test_samples_have_their_frequencies(subject):
    """Each part is used as often as its marginal says, to four standard deviations and a little more."""
    case, count = subject.case((2,), size=2), 20_000 if ON_GPU else 400
    there = case.distribution()

    def drawn():
        torch.manual_seed(0)
        return on_device(case).distribution().sample((count,)).cpu()

    frequencies = there.to_parts(by_kernels(drawn)).double().mean(0)
    deviation = (there.marginals * (1 - there.marginals)).clamp(min=0).sqrt() / count**0.5
    assert ((frequencies - there.marginals).abs() <= 4 * deviation + 1 / count).all()


@pytest.mark.parametrize("subject", TABLES if ON_GPU else SOME, ids=lambda subject: subject.name)
def test_best_structures_and_samples(subject):
    case = subject.case((3,), size=3)
    there = case.distribution()

    def events():
        here = on_device(case).distribution()
        torch.manual_seed(0)
        drawn = here.sample((DRAWS,))
        torch.manual_seed(0)
        assert torch.equal(here.sample((DRAWS,)), drawn)
        return here.mode.cpu(), drawn.cpu()

    mode, drawn = by_kernels(events)
    assert torch.allclose(there.score(mode), there.max_score)
    assert torch.isfinite(there.log_prob(drawn)).all()


@pytest.mark.parametrize("backend", [pytest.param("aot_eager", marks=() if ON_GPU else SLOW)])
@pytest.mark.filterwarnings("ignore")  # of PyTorch about itself
def test_compiled_functions_and_transforms_have_kernels_inside(backend):
    """A chart, whose size only the table knows, is no obstacle."""
    scores = torch.randn(2, 3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).to(DEVICE)

    def log_partition(arcs):
        return ProjectiveTree(arcs, labelled=False, validate_args=False).log_partition.sum()

    compiled = torch.compile(log_partition, backend=backend, fullgraph=True)

    def found():
        leaf = scores.clone().requires_grad_()
        total = compiled(leaf)
        return total.detach(), *torch.autograd.grad(total, leaf), torch.func.hessian(log_partition)(scores[:1])

    leaf = scores.cpu().requires_grad_()
    total = log_partition(leaf)
    (grad,), hessian = torch.autograd.grad(total, leaf), torch.func.hessian(log_partition)(scores[:1].cpu())
    expected = total.detach(), grad, hessian
    for mine, right in zip(by_kernels(found), expected, strict=True):
        assert torch.allclose(mine.cpu(), right, 1e-10, 1e-10)


@pytest.mark.parametrize("n", [pytest.param(n, marks=() if ON_GPU else SLOW) for n in (2, 4)])
def test_a_table_of_ones_own(n):
    """Eisner's program with items of all sizes, one of them impossible."""
    program = eisner.build(n, False)
    scores = torch.randn(n + 2, len(program.places), generator=torch.Generator().manual_seed(0)).double()
    scores[n + 1] = -torch.inf
    lengths = torch.tensor([*range(n + 1), n])

    def answers(scores, lengths):
        scores = scores.detach().requires_grad_()
        table = TableStructure(program, scores, lengths)
        grads = [torch.autograd.grad(value.sum(), scores)[0] for value in (table.log_partition, table.entropy())]
        events, best = table.oracles.best(*table._arguments())
        return [table.log_partition.detach(), table.marginals.detach(), *grads, events, best]

    found = by_kernels(answers, scores.to(DEVICE), lengths.to(DEVICE))
    for mine, right in zip(found, answers(scores, lengths), strict=True):
        assert torch.allclose(mine.cpu(), right, 1e-10, 1e-10)


def test_a_weight_of_two_sums_goes_to_the_reference():
    program = foldings(3)
    table = TableStructure(program, torch.zeros(6, device=DEVICE))
    assert by_kernels(lambda: dispatch.select("table", *table._arguments())) is None
