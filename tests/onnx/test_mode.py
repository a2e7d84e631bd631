"""The best structures in operators of ONNX are those of the kernels, in graphs of every batch and length."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from strukt import CTC, LinearChain, NonProjectiveTree, ProjectiveTree, SpanTree
from strukt.nn import CRF, tag_constraints
from strukt.onnx import linear_chain, mode, non_projective_tree, projective_tree, span_tree

FREE = torch.export.Dim.DYNAMIC
SIZES = [(2, 5), (2, 1), (1, 1), (3, 17), (8, 2)]


def chain(scores, lengths, **options):
    return LinearChain(
        scores, torch.tensor([[1.0, -1.0, 0.5], [0.0, -torch.inf, 0.2], [0.3, 1.0, 0.0]]), lengths, **options
    )


def trees(kind, single_root=True, labelled=False):
    def make(arcs, lengths, **options):
        return kind(arcs, lengths, single_root=single_root, labelled=labelled, **options)

    return make


def spans(labelled):
    return lambda scores, lengths, **options: SpanTree(scores, lengths, labelled=labelled, **options)


def layer(scores, lengths, **options):
    """A layer as models have it, which needs no option."""
    crf = CRF(3, tag_constraints(["O", "B-X", "I-X"], "BIO"))
    with torch.no_grad():
        crf.transition[:], crf.end[:] = torch.tensor([[1.0, -1.0, 0.5]]), torch.tensor([0.3, 0.0, -1.0])
    return crf(scores, lengths)


CASES = {
    "chain": (chain, lambda n: (n, 3)),
    "layer": (layer, lambda n: (n, 3)),
    "projective": (trees(ProjectiveTree), lambda n: (n, n + 1)),
    "projective-many-roots": (trees(ProjectiveTree, False), lambda n: (n, n + 1)),
    "projective-labels": (trees(ProjectiveTree, labelled=True), lambda n: (n, n + 1, 2)),
    "non-projective": (trees(NonProjectiveTree), lambda n: (n, n + 1)),
    "non-projective-many-roots": (trees(NonProjectiveTree, False), lambda n: (n, n + 1)),
    "spans": (spans(False), lambda n: (n + 1, n + 1)),
    "spans-labels": (spans(True), lambda n: (n + 1, n + 1, 3)),
}


class Best(nn.Module):
    """From scores and lengths to the best structure."""

    def __init__(self, make):
        super().__init__()
        self.make = make

    def forward(self, scores, lengths):
        return mode(self.make(scores, lengths, validate_args=False))


def in_python(step, start, items, reverse=False):
    """What PyTorch's `scan` computes, without the half minute that it takes to trace a step."""
    single = isinstance(items, torch.Tensor)
    count = len(items if single else items[0])
    state, outputs = start, [None] * count
    for t in reversed(range(count)) if reverse else range(count):
        state, outputs[t] = step(state, items[t] if single else tuple(item[t] for item in items))
    if isinstance(outputs[0], tuple):
        return state, tuple(map(torch.stack, zip(*outputs, strict=True)))
    return state, torch.stack(outputs)


@pytest.fixture
def traced(monkeypatch):
    """Make `mode` believe that it is exported, and loops run in Python."""
    monkeypatch.setattr(torch.compiler, "is_exporting", lambda: True)
    for module in (linear_chain, non_projective_tree, projective_tree, span_tree):
        monkeypatch.setattr(module, "scan", in_python)


@pytest.mark.parametrize("name", CASES)
def test_loops_find_the_mode(name, traced):
    make, shape = CASES[name]

    @given(st.integers(1, 8), st.integers(0, 2**31))
    def check(n, seed):
        generator = torch.Generator().manual_seed(seed)
        lengths = torch.randint(1, n + 1, (2, 3), generator=generator)
        scores = torch.randn(2, 3, *shape(n), generator=generator)
        distribution = make(scores, lengths)
        assert torch.equal(mode(distribution), distribution.mode)

    check()


@pytest.mark.parametrize("single_root", [True, False])
def test_forbidden_arcs_are_not_chosen(single_root, traced):
    @given(st.integers(2, 9), st.integers(0, 2**31))
    def check(n, seed):
        generator = torch.Generator().manual_seed(seed)
        arcs = torch.randn(4, n, n + 1, generator=generator)
        arcs = arcs.masked_fill(torch.rand(arcs.shape, generator=generator) < 0.4, -torch.inf)
        for kind in (ProjectiveTree, NonProjectiveTree):
            possible = (
                kind(arcs, single_root=single_root, labelled=False, validate_args=False).log_partition
                > -torch.inf
            )
            if possible.any():
                distribution = kind(arcs[possible], single_root=single_root, labelled=False)
                assert torch.equal(mode(distribution), distribution.mode)

    check()


@pytest.mark.parametrize("name", [name for name in CASES if name != "layer"])
def test_a_large_penalty_of_all_structures_hides_no_differences(name, traced):
    make, shape = CASES[name]
    scores = torch.randn(20, *shape(6), generator=torch.Generator().manual_seed(0))
    lengths = torch.full((20,), 6)
    place = (slice(None), 0, 1) if name.startswith("spans") else (slice(None), 0)  # of the first word
    scores[place] = 0.0
    best = make(scores, lengths).log_prob(make(scores, lengths).mode)
    penalised = scores.clone()
    penalised[place] = -1e9
    assert torch.allclose(make(scores, lengths).log_prob(mode(make(penalised, lengths))), best, atol=1e-4)


def test_each_step_of_a_chain_may_have_its_transitions(traced):
    for n in (1, 2, 6):
        distribution = LinearChain(torch.randn(3, n, 4), torch.randn(3, n - 1, 4, 4), torch.tensor([n, 1, n]))
        assert torch.equal(mode(distribution), distribution.mode)


def test_without_a_batch(traced):
    distribution = LinearChain(torch.randn(5, 3), torch.randn(3, 3))
    assert torch.equal(mode(distribution), distribution.mode)


def test_outside_of_an_export_it_is_the_mode():
    distribution = CTC(torch.randn(6, 4).log_softmax(-1), torch.tensor([1, 2]))
    assert torch.equal(mode(distribution), distribution.mode)


def test_what_is_no_graph_is_refused(traced):
    with pytest.raises(
        NotImplementedError, match="the mode of CTC cannot be exported to ONNX; expected LinearChain"
    ):
        mode(CTC(torch.randn(6, 4).log_softmax(-1), torch.tensor([1, 2])))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::torch.jit.TracerWarning")  # PyTorch's own
def test_tracing_is_refused_because_it_would_keep_the_structure_of_the_example(tmp_path):
    scores, lengths = torch.randn(2, 5, 3), torch.tensor([5, 3])
    model = Best(layer)
    with pytest.raises(NotImplementedError, match=r"the mode a constant; expected .* dynamo=True"):
        torch.onnx.export(model, (scores, lengths), tmp_path / "model.onnx", dynamo=False)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`isinstance.treespec, LeafSpec.` is deprecated:FutureWarning")  # PyTorch's own
@pytest.mark.parametrize("name", CASES)
def test_onnxruntime_finds_the_mode_in_a_graph_of_all_sizes(name, tmp_path):
    for package in ("onnx", "onnxscript"):
        pytest.importorskip(package)
    onnxruntime = pytest.importorskip("onnxruntime")
    make, shape = CASES[name]
    axes = {0: FREE} | {
        i + 1: FREE for i, sizes in enumerate(zip(shape(5), shape(6), strict=True)) if len(set(sizes)) > 1
    }
    arguments = torch.randn(2, *shape(5)), torch.tensor([5, 3])
    torch.onnx.export(
        Best(make).eval(),
        arguments,
        tmp_path / "best.onnx",
        dynamo=True,
        input_names=["scores", "lengths"],
        dynamic_shapes=(axes, {0: FREE}),
        verbose=False,
    )
    session = onnxruntime.InferenceSession(tmp_path / "best.onnx")
    for batch, n in SIZES:
        scores, lengths = torch.randn(batch, *shape(n)), torch.randint(1, n + 1, (batch,))
        (best,) = session.run(None, {"scores": scores.numpy(), "lengths": lengths.numpy()})
        assert torch.equal(torch.from_numpy(best), make(scores, lengths).mode)


@pytest.mark.parametrize("n", [8192, 8193, 12000])
def test_a_long_path_of_heads_is_no_cycle(n):
    heads = torch.cat([torch.zeros(1, dtype=torch.int64), torch.arange(n)])[None]  # of each word, the previous one
    node, cycle = non_projective_tree._cycle(heads)
    assert node.item() == 0
    assert not cycle.any()


def test_a_cycle_at_the_end_of_a_long_path():
    heads = torch.cat([torch.zeros(1, dtype=torch.int64), torch.arange(9000)])[None]
    heads[0, 1] = 2  # 1 and 2 are a cycle, below which all others are
    node, cycle = non_projective_tree._cycle(heads)
    assert node.item() in (1, 2)
    assert cycle[0].nonzero().flatten().tolist() == [1, 2]
