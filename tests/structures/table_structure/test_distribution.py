"""Structures of one's own: the same answers as strukt's own kernels, and programs that are refused."""

import copy
import gc
import pickle
from functools import partial

import numpy as np
import pytest
import torch
from tests.backends import assert_kernels_answer_as_the_reference

from strukt import Program, ProgramBuilder, ProjectiveTree, TableStructure
from strukt.kernels import dispatch
from strukt.structures.projective_tree import eisner
from strukt.testing.subjects.tables import foldings


def trees_and_arcs(n, batch=3, dtype=torch.float64, scale=1.0):
    """Scores of arcs, and which of them are weights of Eisner's program."""
    arcs = scale * torch.randn(batch, n, n + 1, generator=torch.Generator().manual_seed(n), dtype=dtype)
    arcs[0, 0, 2:] = -torch.inf
    weighted = torch.from_numpy(np.arange(n + 1) != np.arange(1, n + 1)[:, None])
    return arcs, weighted


@pytest.mark.parametrize("scale", [1.0, 300.0])
@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_eisners_program_answers_as_projective_trees_do(n, scale):
    arcs, weighted = trees_and_arcs(n, scale=scale)
    theirs, table = ProjectiveTree(arcs), TableStructure(eisner.build(n, True), arcs[:, weighted])
    for question in ("log_partition", "marginals", "max_score", "max_marginals", "log_count"):
        expected, found = getattr(theirs, question), getattr(table, question)
        expected = expected[:, weighted] if expected.dim() == 3 else expected
        assert torch.allclose(found, expected, rtol=1e-9, atol=1e-9), question
    assert torch.allclose(table.entropy(), theirs.entropy(), rtol=1e-9, atol=1e-300)
    assert torch.equal(table.mode.bool(), theirs.to_parts(theirs.mode)[:, weighted].bool())
    k = min(3, int(theirs.log_count.exp().min().round()))
    assert torch.allclose(table.topk(k).scores, theirs.topk(k).scores, rtol=1e-12)


def test_gradients_are_those_of_projective_trees():
    arcs, weighted = trees_and_arcs(6)
    arcs.requires_grad_()
    direction = torch.randn(weighted.sum(), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    theirs, table = ProjectiveTree(arcs), TableStructure(eisner.build(6, True), arcs[:, weighted])
    for one, other in (
        (theirs.marginals[:, weighted] @ direction, table.marginals @ direction),
        (theirs.entropy(), table.entropy()),
        (theirs.log_prob(theirs.mode), table.log_prob(table.mode)),
    ):
        expected, found = (torch.autograd.grad(value.sum(), arcs, retain_graph=True)[0] for value in (one, other))
        assert torch.allclose(found, expected, atol=1e-10)


def test_items_of_all_sizes_share_a_program():
    arcs, weighted = trees_and_arcs(7, batch=8)
    lengths = torch.arange(8)
    theirs = ProjectiveTree(arcs, lengths, single_root=False)
    table = TableStructure(eisner.build(7, False), arcs[:, weighted], lengths)
    assert torch.allclose(table.log_partition, theirs.log_partition, rtol=1e-12)
    assert torch.allclose(table.marginals, theirs.marginals[:, weighted], atol=1e-12)
    assert torch.equal(table.sample((5,)).sum(-1), lengths.expand(5, 8))


def test_the_reference_agrees_with_the_kernels(on):
    scores = torch.randn(4, 10, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    scores[1, 3] = -torch.inf
    other = torch.randn(4, 10, dtype=torch.float64, generator=torch.Generator().manual_seed(1))

    program = foldings(4)

    def answers():
        table, theirs = (TableStructure(program, each, [4, 4, 2, 0]) for each in (scores, other))
        best = table.topk(3)
        return (
            table.log_partition, table.marginals, table.entropy(), theirs.cross_entropy(table), table.mode,
            best.scores, best.events, table.max_marginals,
        )  # fmt: skip

    assert_kernels_answer_as_the_reference(on, answers, 1e-12)


def test_gradients_outlive_the_program():
    scores = torch.zeros(6, requires_grad=True)
    loss = TableStructure(foldings(3), scores).log_partition
    gc.collect()
    loss.backward()
    assert torch.allclose(scores.grad, torch.tensor([0.5, 0.5, 0.5, 0.25, 0.25, 0.25]))


def test_what_needs_a_weight_says_so():
    table = TableStructure(foldings(3), torch.zeros(6))
    required = torch.tensor([True, False, False, False, False, False])
    with pytest.raises(NotImplementedError, match="cannot be required"):
        table.condition(required)
    with pytest.raises(NotImplementedError, match="no partial_log_prob"):
        table.partial_log_prob(table.mode, required)
    with pytest.raises(NotImplementedError, match=r"topk\(2\)"):
        table.sample_without_replacement(2)
    assert table.condition(forbidden=required).log_count.exp().round() == 2


@pytest.mark.parametrize(
    ("event", "reason"),
    [([1, 1, 1, 1, 0, 0], "no structure of the program uses these weights"), ([2, 0, 0, 0, 0, 0], "holds 2")],
)
def test_events_that_no_structure_has_are_refused(event, reason):
    table = TableStructure(foldings(3), torch.zeros(6))
    assert not table.is_structure(torch.tensor(event))
    with pytest.raises(ValueError, match=reason):
        table.log_prob(torch.tensor(event))


def degrees_that_differ():
    p = ProgramBuilder()
    weight, (first, second), one = p.scattered(np.arange(3), degrees=[1, 2, 2]), p.cells(2), p.cells()
    p.leaf(one)
    p.sum([first, second], one, weight=weight[:2], stage=0)
    return p.build(first, count=2)


def one_of(k):
    """One of k weights."""
    p = ProgramBuilder()
    weight, total, one = p.scattered(np.arange(k)), p.cells(), p.cells()
    p.leaf(one)
    cells = p.cells(k)
    p.sum(cells, one, weight=weight, stage=0)
    p.sum(total, cells[0], count=k, stage=1)
    return p.build(total)


def all_of(k):
    """Four weights in one product of a sum, a weight, two cells and a weight of its term."""
    p = ProgramBuilder()
    weight, (a, b, total), one = p.scattered(np.arange(k)), p.cells(3), p.cells()
    p.leaf(one)
    p.sum([a, b], one, weight=weight[:2], stage=0)
    p.sum(total, a, b, each=weight[2], weight=weight[3], stage=1)
    return p.build(total)


def test_programs_from_elsewhere_have_numbers_of_their_own():
    program = one_of(3)
    distribution = TableStructure(program, torch.zeros(3))
    copied, loaded = copy.deepcopy(distribution), pickle.loads(pickle.dumps(distribution))
    assert copied.program is program
    assert loaded.program.number != program.number
    assert loaded.options == (loaded.program.number,)
    assert torch.allclose(loaded.log_partition, distribution.log_partition)
    assert torch.allclose(torch.distributions.kl_divergence(distribution, copied), torch.zeros(()))


@pytest.mark.parametrize("score", [-200.0, 170.0, -1e4])
def test_products_of_four_weights_are_not_lost(score):
    scores = torch.full((4,), score, dtype=torch.float64)
    assert torch.allclose(TableStructure(all_of(4), scores).log_partition, 4 * scores[0], rtol=1e-12)


def test_long_runs_without_weights_are_sound():
    assert TableStructure(one_of(1), torch.zeros(1)).log_count == 0
    p = ProgramBuilder()
    weight, cells, total = p.scattered(np.arange(1)), p.cells(6), p.cells()
    p.leaf(cells[:5])
    p.sum(cells[5], cells[0], weight=weight[0], stage=0)
    p.sum(total, cells[0], count=6, stage=1)
    assert TableStructure(p.build(total), torch.zeros(1)).log_count.exp().round() == 6


def test_the_reference_knows_what_is_impossible():
    scores, others = torch.tensor([-torch.inf, 0.0, 0.0, 0.0]).double(), torch.zeros(4).double()
    program = all_of(4)

    def answers():
        forbidden, free = TableStructure(program, scores), TableStructure(program, others)
        return forbidden.marginals, free.cross_entropy(forbidden), free.marginals

    fast = answers()
    with dispatch.using("reference"):
        slow = answers()
    for one, other in zip(fast, slow, strict=True):
        assert torch.equal(one, other)
    assert not fast[0].any()


def a_stage_of_sums_of_all_kinds():
    """Two sums in one stage, over two runs of cells and over one run with a weight for each; leaves come last."""
    p = ProgramBuilder()
    weight, (a, b, pair, run, total), one = p.scattered(np.arange(5)), p.cells(5), p.cells(3)
    p.leaf(one)
    p.sum([a, b], one[0], weight=weight[:2], stage=0)
    p.sum([pair, run], [a, one[0]], [b, -1], count=[1, 3], each=[-1, weight[2]], stage=1)
    p.sum(total, pair, count=2, stage=2)
    return p.build(total)


def test_the_reference_tells_one_run_from_two():
    scores = torch.randn(5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    table = TableStructure(a_stage_of_sums_of_all_kinds(), scores)
    expected = torch.cat([scores[:2].sum(0, keepdim=True), scores[2:]]).logsumexp(0)
    with dispatch.using("reference"):
        again = TableStructure(table.program, scores)
        assert torch.allclose(again.log_partition, expected, rtol=1e-12)
        assert torch.allclose(again.entropy(), table.entropy(), rtol=1e-12)
    assert torch.allclose(table.log_partition, expected, rtol=1e-12)


def test_second_derivatives_of_items_without_weights():
    """Sequences whose weights are all of transitions: an item of one position uses none."""
    p = ProgramBuilder()
    weight, ways = p.scattered(np.arange(4).reshape(2, 2)), p.cells(2, 2)
    p.leaf(ways[0])
    p.sum(ways[1], ways[0, 0], count=2, each=weight[:, 0], stage=0)
    program = p.build(ways[:, 0], count=2)
    scores = torch.zeros(2, 4, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(
        TableStructure(program, scores, [1, 1]).entropy().sum(), scores, create_graph=True
    )
    assert not torch.autograd.grad(gradient.sum(), scores)[0].any()


def test_what_larger_items_use_has_no_gradient():
    scores = torch.zeros(2, 10)
    scores[1, 2:4] = torch.nan
    scores.requires_grad_()
    parts = TableStructure(foldings(4), scores, [4, 1]).mode_parts("straight-through")
    assert parts[1].tolist() == [1.0] + [0.0] * 9
    parts.sum().backward()
    assert scores.grad[1].tolist() == [1.0] + [0.0] * 9


def test_what_no_total_needs_is_never_read():
    """Sums that nobody uses, and their weights, which may hold anything."""
    p = ProgramBuilder()
    weight, cells, total, one = p.scattered(np.arange(6)), p.cells(6), p.cells(), p.cells()
    p.leaf(one)
    p.sum(cells, one, weight=weight, stage=0)
    p.sum(total, cells[0], count=2, stage=1)
    p.sum(p.cells(), cells[3], count=3, stage=2)
    scores = torch.tensor([0.0, 0.0, torch.nan, torch.inf, 1e30, torch.nan])
    table = TableStructure(p.build(total), scores)
    assert torch.allclose(table.log_partition, torch.tensor(2.0).log())
    assert table.marginals.tolist() == [0.5, 0.5, 0, 0, 0, 0]
    assert table.mode.sum() == 1


def test_declarations_do_not_mix():
    p = ProgramBuilder()
    p.weights(np.ones((2, 2), bool))
    with pytest.raises(ValueError, match="declare all by scattered"):
        p.scattered(np.arange(2))
    with pytest.raises(ValueError, match="declared already"):
        p.weights(np.ones((2, 2), bool))


@pytest.mark.parametrize("allowed", [np.ones((2, 2), int), np.array(True)], ids=["integers", "no axis"])
def test_weights_are_declared_by_a_boolean_array(allowed):
    with pytest.raises(ValueError, match=r"allowed is of type .* and shape .*; expected Booleans \(rows, ...\)"):
        ProgramBuilder().weights(allowed)
    assert ProgramBuilder().weights([[True, False]]).tolist() == [[0, -1]]
    assert ProgramBuilder().scattered([3, -1]).tolist() == [0, -1]


@pytest.mark.parametrize(
    "declare", [lambda p: p.weights([[True, True]], times=0), lambda p: p.scattered([0, 1], times=-1)]
)
def test_structures_use_a_positive_number_of_weights(declare):
    with pytest.raises(ValueError, match=r"times is (0|-1); expected 1 or more"):
        declare(ProgramBuilder())


def a_group_without_weights():
    p = ProgramBuilder()
    weight, total, one = p.weights(np.array([[True, True, True], [False] * 3])), p.cells(), p.cells(3)
    p.leaf(one)
    p.sum(total, one[0], count=3, each=weight[0, 0], stage=0)
    return p.build(total)


def written(steps):
    """The program of steps with a builder, three weights of which one must be used, three cells and a leaf."""
    p = ProgramBuilder()
    weight, cells, one = p.weights(np.ones((1, 3), bool))[0], p.cells(3), p.cells()
    p.leaf(one)
    return steps(p, weight, *cells, one)[-1]


WRONG = {
    "row 2 lets a structure use weight 0 twice, in its term 0": lambda p, w, a, b, c, one: [
        p.sum(a, one, weight=w[0], stage=0), p.sum(b, a, weight=w[1], stage=1), p.sum(c, b, a, stage=2), p.build(c)
    ],
    "must use 1 of the weights 0 to 2, but uses 2": lambda p, w, a, b, c, one: [
        p.sum(a, one, weight=w[0], stage=0), p.sum(b, a, weight=w[1], stage=1), p.build(b)
    ],
    "must use 1 of the weights 0 to 2, but uses 1 to 2": lambda p, w, a, b, c, one: [
        p.sum(a, one, weight=w[0], stage=0), p.sum(b, a, weight=w[1], stage=1), p.sum(c, a, count=2, stage=2),
        p.build(c),
    ],
    "row 0 of stage 0 uses cell 1, which row 1 makes in stage 1": lambda p, w, a, b, c, one: [
        p.sum(b, one, weight=w[0], stage=1), p.sum(a, b, stage=0), p.build(a)
    ],
    "row 0 has 9 cells from cell 2 on, and there are 4": lambda p, w, a, b, c, one: [
        p.sum(a, c, one, count=9, stage=0), p.build(a)
    ],
    "row 0 has 1 weights from weight 3 on, and there are 3": lambda p, w, a, b, c, one: [
        p.sum(a, one, weight=3, stage=0), p.build(a)
    ],
    "row 1 writes cell 0, which is written by row 0 already": lambda p, w, a, b, c, one: [
        p.sum(a, one, weight=w[[0, 1]], stage=0), p.build(a)
    ],
    "row 0 has 0 terms": lambda p, w, a, b, c, one: [p.sum(a, one, count=0, stage=0), p.build(a)],
    "leaf 1 has 1 cells from cell 50 on, and there are 4": lambda p, w, a, b, c, one: [
        p.leaf(np.array(50)), p.sum(a, one, weight=w[0], stage=0), p.build(a)
    ],
    r"total of size 1 \+ 0 has 1 cells from cell 10000000 on": lambda p, w, a, b, c, one: [
        p.sum(a, one, weight=w[0], stage=0), p.build([10**7, a])
    ],
    "the total of size 1 has 0 terms": lambda p, w, a, b, c, one: [
        p.sum(a, one, weight=w[0], stage=0), p.build([a, a], count=[0, 1])
    ],
    "the total of size 1 lets a structure use weight 0 twice": lambda p, w, a, b, c, one: [
        p.sum(a, one, weight=w[0], stage=0), p.sum(b, one, weight=w[1], stage=0), p.build([a, b], [a, -1])
    ],
}  # fmt: skip
"""Steps of programs, by the error."""


@pytest.mark.parametrize(
    ("build", "message"),
    [
        *((partial(written, steps), message) for message, steps in WRONG.items()),
        (a_group_without_weights, "must use 1 of group 1, which has no weights, but uses 0"),
        (degrees_that_differ, "degrees of weights sum to 1 in one structure and to 2 in another"),
    ],
)
def test_programs_that_are_wrong_are_refused(build, message):
    with pytest.raises(ValueError, match=message):
        TableStructure(build(), torch.zeros(3))


def test_sums_over_one_run_are_paired_with_ones():
    p = ProgramBuilder()
    weight, cells, one = p.scattered(np.arange(4)), p.cells(4), p.cells()
    p.leaf(one)
    p.sum(cells, one, weight=weight, stage=0)
    table = TableStructure(p.build(cells[0], count=[2, 4]), torch.zeros(2, 4), lengths=[1, 2])
    assert torch.allclose(table.log_count.exp(), torch.tensor([2.0, 4.0]))


def test_a_program_is_drawn_while_its_cells_can_be_told_apart():
    assert foldings(2).svg().count("<circle") == 2 * 6
    assert isinstance(foldings(2), Program)
    with pytest.raises(ValueError, match="build it for a smaller size"):
        eisner.build(20, True).svg()
    assert eisner.build(20, True)._repr_svg_() is None
