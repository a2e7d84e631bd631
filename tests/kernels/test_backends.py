"""The fused kernels say what the reference says, at sizes around the widths of vectors and blocks."""

import functools
from collections.abc import Callable

import pytest
import torch
from tests.backends import assert_kernels_answer_as_the_reference, log_partition_and_gradient
from tests.scores import normal
from torch import Tensor
from torch.distributions import Distribution

from strukt.distributions import BitSpanTree, LinearChain, NonProjectiveTree, ProjectiveTree, SpanTree
from strukt.kernels import dispatch
from strukt.kernels.engine.items import EXTENDED, PLAIN
from strukt.structures.projective_tree.cpu import TABLE

pytestmark = pytest.mark.skipif(
    dispatch.backends()["cpu"] != "available", reason=f"no compiled kernels: {dispatch.backends()['cpu']}"
)

MEMBERS: dict[str, Callable[[Distribution], Tensor]] = {
    "log_partition": lambda d: d.log_partition,
    "marginals": lambda d: d.marginals,
    "max_score": lambda d: d.max_score,
    "topk": lambda d: d.topk(3)[0],
    "log_count": lambda d: d.log_count,
}
LENGTHS = [None, 0, 1, 2, None]


def lengths(n: int) -> Tensor:
    return torch.tensor([n if length is None else min(length, n) for length in LENGTHS])


def chain(transition_shape: tuple[int, ...]) -> Callable[..., tuple[Distribution, tuple[Tensor, ...]]]:
    def build(n: int, c: int, change: Callable[[Tensor], Tensor]) -> tuple[Distribution, tuple[Tensor, ...]]:
        sizes = {"n - 1": n - 1, "b": len(LENGTHS), "c": c}
        shape = [sizes[axis] for axis in transition_shape]
        scores = tuple(change(score).requires_grad_() for score in (normal(5, n, c), normal(*shape, seed=1)))
        return LinearChain(*scores, lengths(n)), scores

    return build


CHAINS = {
    "shared": chain(("c", "c")),
    "per item": chain(("b", "c", "c")),
    "per step": chain(("b", "n - 1", "c", "c")),
}
TREES = {
    f"{kind.__name__}, {'single' if single_root else 'any'} root": (kind, single_root)
    for kind in (NonProjectiveTree, ProjectiveTree)
    for single_root in (True, False)
}


def answers(distribution: Distribution, scores: tuple[Tensor, ...]) -> dict[str, Tensor]:
    """What each member says, and its gradient in each score tensor."""
    found = {}
    for name, member in MEMBERS.items():
        value = member(distribution)
        found[name] = value.detach()
        if value.requires_grad:
            gradients = torch.autograd.grad(value[value.isfinite()].sum(), scores, materialize_grads=True)
            found |= {f"gradient {i} of {name}": gradient for i, gradient in enumerate(gradients)}
    return found


def assert_backends_agree(
    on, build: Callable[[], tuple[Distribution, tuple[Tensor, ...]]], tolerance: float
) -> None:
    on("reference")
    expected = answers(*build())
    on("cpu")
    actual = answers(*build())
    for name, value in expected.items():
        assert torch.allclose(actual[name], value, rtol=tolerance, atol=tolerance), name


def unchanged(scores: Tensor) -> Tensor:
    return scores


def single(scores: Tensor) -> Tensor:
    return scores.float()


def steep(scores: Tensor) -> Tensor:
    """Differences of hundreds of nats, which probabilities in double precision cannot hold."""
    return 300 * scores


def sparse(scores: Tensor) -> Tensor:
    """Four in ten parts forbidden."""
    return scores.masked_fill(scores < -0.25, -torch.inf)


def uneven(scores: Tensor) -> Tensor:
    """Items of one batch that different kernels compute: an ordinary one, a steep one, one without structures."""
    if scores.dim() < 3:
        return scores
    factors = torch.tensor([1.0, 1.0, 300.0, 1.0, 1000.0], dtype=scores.dtype).reshape(
        -1, *[1] * (scores.dim() - 1)
    )
    hopeless = torch.tensor([False, False, False, True, False]).reshape(factors.shape)
    return (factors * scores).masked_fill(hopeless, -torch.inf)


CHANGES = [(unchanged, 1e-10), (single, 1e-4), (steep, 1e-8), (sparse, 1e-10), (uneven, 1e-8)]


@pytest.mark.thinned("c", "change")
@pytest.mark.parametrize(("change", "tolerance"), CHANGES)
@pytest.mark.parametrize("c", [1, 2, 3, 31, 33, 64, 65, 130])
@pytest.mark.parametrize("kind", CHAINS)
def test_chains_of_any_number_of_labels(on, poisoned_memory, kind, c, change, tolerance):
    assert_backends_agree(on, lambda: CHAINS[kind](6, c, change), tolerance)


@pytest.mark.parametrize("n", [1, 2, 3, 33, 64, 65])
@pytest.mark.parametrize("kind", CHAINS)
def test_chains_of_any_length(on, poisoned_memory, kind, n):
    assert_backends_agree(on, lambda: CHAINS[kind](n, 5, unchanged), 1e-10)


@functools.cache
def of_nineteen(change: Callable[[Tensor], Tensor]) -> tuple[tuple[Tensor, ...], Tensor, dict[str, Tensor]]:
    """Scores and lengths of nineteen chains, and what the reference says of each by itself."""
    unary, transition = change(normal(19, 35, 19)), change(normal(19, 19, seed=1))
    each = torch.randint(36, (19,), generator=torch.Generator().manual_seed(0))
    scores = unary.clone().requires_grad_(), transition.repeat(19, 1, 1).requires_grad_()
    return (unary, transition), each, answers(LinearChain(*scores, each), scores)


@pytest.mark.thinned("batch", "threads", "change")
@pytest.mark.parametrize(("change", "tolerance"), CHANGES[:2])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("batch", [7, 8, 9, 16, 19])
def test_chains_of_any_batch(on, poisoned_memory, batch, threads, change, tolerance):
    """The first of nineteen chains; transitions that they share get the sum of their gradients."""
    on("reference")
    (unary, transition), each, expected = of_nineteen(change)
    on("cpu")
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    scores = unary[:batch].clone().requires_grad_(), transition.clone().requires_grad_()
    actual = answers(LinearChain(*scores, each[:batch]), scores)
    torch.set_num_threads(before)
    assert actual.keys() == expected.keys()
    for name, value in expected.items():
        true = value[:batch].sum(0) if name.startswith("gradient 1") else value[:batch]
        assert torch.allclose(actual[name], true, rtol=tolerance, atol=tolerance), name


@pytest.mark.thinned("n", "change")
@pytest.mark.parametrize(("change", "tolerance"), CHANGES)
@pytest.mark.parametrize("n", [1, 2, 3, 9, 17])
@pytest.mark.parametrize("kind", TREES)
def test_trees_of_any_length(on, poisoned_memory, kind, n, change, tolerance):
    make, single_root = TREES[kind]

    def build():
        arcs = change(normal(5, n, n + 1))
        arcs.requires_grad_()
        return make(arcs, lengths(n), single_root=single_root), (arcs,)

    assert_backends_agree(on, build, tolerance)


@pytest.mark.thinned("n", "change")
@pytest.mark.parametrize(("change", "tolerance"), CHANGES)
@pytest.mark.parametrize(
    ("n", "labels", "single_root"), [(1, 4, True), (3, 1, False), (9, 4, True), (9, 4, False)]
)
def test_projective_trees_with_labels(on, poisoned_memory, n, labels, single_root, change, tolerance):
    def build():
        arcs = change(normal(5, n, n + 1, labels)).requires_grad_()
        return ProjectiveTree(arcs, lengths(n), single_root=single_root, labelled=True), (arcs,)

    assert_backends_agree(on, build, tolerance)


@pytest.mark.thinned("n", "change")
@pytest.mark.parametrize(("change", "tolerance"), CHANGES)
@pytest.mark.parametrize("n", [1, 2, 3, 9, 17])
@pytest.mark.parametrize("labels", [None, 1, 5])
def test_span_trees_of_any_length(on, poisoned_memory, labels, n, change, tolerance):
    shape = (5, n + 1, n + 1) if labels is None else (5, n + 1, n + 1, labels)

    def build():
        spans = change(normal(*shape)).requires_grad_()
        return SpanTree(spans, lengths(n), labelled=labels is not None), (spans,)

    assert_backends_agree(on, build, tolerance)


@pytest.mark.thinned("n", "change")
@pytest.mark.parametrize(("change", "tolerance"), CHANGES)
@pytest.mark.parametrize("n", [1, 2, 3, 9, 17])
@pytest.mark.parametrize("bits", [1, 3, 8, 33])
def test_trees_with_codes_of_any_length(on, poisoned_memory, bits, n, change, tolerance):
    shape = (5, n + 1, n + 1, bits)

    def build():
        positive, negative = (change(normal(*shape, seed=seed)).requires_grad_() for seed in (0, 1))
        return BitSpanTree(positive, lengths(n), negative=negative), (positive, negative)

    assert_backends_agree(on, build, tolerance)


@pytest.mark.parametrize(
    "change",
    [
        lambda spans: spans + 40,
        *(pytest.param(lambda spans, by=by: by * spans, marks=pytest.mark.slow) for by in (3, 30)),
    ],
)
def test_long_span_trees(on, poisoned_memory, change):
    """Totals of long sentences underflow or overflow unless the scores are shifted."""
    spans, each = change(normal(2, 151, 151)), torch.tensor([150, 120])

    def trees(spans: Tensor) -> Distribution:
        return SpanTree(spans, each)

    def answers() -> tuple[Tensor, ...]:
        return *log_partition_and_gradient(trees, spans), trees(spans).max_score

    assert_kernels_answer_as_the_reference(on, answers, 1e-10)
    assert trees(spans).is_structure(trees(spans).sample((3,))).all()


def penalised(scores: Tensor) -> Tensor:
    """Some arcs so unlikely that their weights underflow."""
    return torch.where(scores > 0.15, scores - 900, scores)


@pytest.mark.slow
@pytest.mark.parametrize("change", [unchanged, sparse, penalised])
@pytest.mark.parametrize("single_root", [True, False])
def test_long_projective_sentences(on, poisoned_memory, single_root, change):
    """Totals of flat scores underflow from some 150 words on: such items are computed in extended numbers."""
    arcs, each = change(0.1 * normal(2, 190, 191)), torch.tensor([190, 40])
    _, chart = TABLE.inside(arcs, each, single_root)
    assert chart[:, 0].tolist() == [EXTENDED, PLAIN]

    def trees(arcs: Tensor) -> Distribution:
        return ProjectiveTree(arcs, each, single_root=single_root)

    assert_kernels_answer_as_the_reference(on, lambda: log_partition_and_gradient(trees, arcs), 1e-10)
    assert trees(arcs).log_prob(trees(arcs).sample((3,))).isfinite().all()
