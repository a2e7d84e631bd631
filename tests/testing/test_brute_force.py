"""The oracle is judged here by formulas and by hand, never by the distributions that it judges."""

import math

import pytest
import torch

from strukt.structures.pcfg import brute_force as grammars
from strukt.structures.span_tree import brute_force as constituency
from strukt.testing import brute_force


def catalan_like(n: int) -> int:
    return math.comb(3 * n, n) // (2 * n + 1)


@pytest.mark.parametrize("n", range(5))
def test_number_of_tag_sequences_is_a_power(n):
    table = brute_force.chain(n, torch.zeros(4, 3), torch.zeros(3, 3))
    assert len(torch.unique(table.events, dim=0)) == len(table.events) == 3**n


@pytest.mark.parametrize("n", range(1, 6))
def test_numbers_of_trees_are_cayleys(n):
    arcs = torch.zeros(n, n + 1)
    assert len(brute_force.non_projective_tree(n, arcs, single_root=False).events) == (n + 1) ** (n - 1)
    assert len(brute_force.non_projective_tree(n, arcs, single_root=True).events) == n ** (n - 1)


@pytest.mark.parametrize("n", range(1, 6))
def test_numbers_of_projective_trees_are_known(n):
    arcs = torch.zeros(n, n + 1)
    assert len(brute_force.projective_tree(n, arcs, single_root=False).events) == catalan_like(n)
    assert (
        len(brute_force.projective_tree(n, arcs, single_root=True).events) == math.comb(3 * n - 2, n - 1) // n
    )


def test_the_two_kinds_of_trees_of_three_words_differ_in_crossing_arcs():
    arcs = torch.zeros(3, 4)
    every = {tuple(e.tolist()) for e in brute_force.non_projective_tree(3, arcs, single_root=True).events}
    projective = {tuple(e.tolist()) for e in brute_force.projective_tree(3, arcs, single_root=True).events}
    assert every - projective == {(3, 0, 2), (2, 0, 1)}


@pytest.mark.parametrize("n", range(6))
def test_numbers_of_matchings_are_falling_factorials(n):
    table = brute_force.matching(n, torch.zeros(5, 6))
    assert len(torch.unique(table.events, dim=0)) == len(table.events) == math.perm(6, n)


@pytest.mark.parametrize(("n", "count"), [(0, 1), (1, 1), (2, 1), (3, 3), (4, 16), (5, 125)])
def test_numbers_of_spanning_trees_are_cayleys(n, count):
    table = brute_force.spanning_tree(n, torch.zeros(5, 5))
    assert len(torch.unique(table.events, dim=0)) == len(table.events) == count
    assert (table.parts.flatten(1).sum(1) == max(n - 1, 0)).all()


def test_binary_vectors_are_scored_by_ones_and_pairs_by_hand():
    pairwise = torch.tensor([[99.0, 10.0, 20.0], [30.0, 99.0, 40.0], [60.0, 80.0, 99.0]])
    table = brute_force.binary(3, torch.tensor([1.0, 2.0, 4.0]), pairwise)
    scores = {tuple(e): s for e, s in zip(table.events.tolist(), table.scores.tolist(), strict=True)}
    assert len(scores) == 8
    assert scores[0, 0, 0] == 0
    assert scores[0, 1, 0] == 2
    assert scores[1, 1, 0] == 3 + 20
    assert scores[1, 1, 1] == 7 + 20 + 40 + 60
    given = brute_force.binary(3, torch.zeros(3), torch.zeros(3, 3), required=(0, 2))
    assert given.permitted.events.tolist() == [[1, 0, 1], [1, 1, 1]]


def test_scores_of_matchings_and_spanning_trees_by_hand():
    scores = torch.tensor([[1.0, 2.0], [4.0, 8.0]])
    matchings = brute_force.matching(2, scores)
    assert dict(zip(map(tuple, matchings.events.tolist()), matchings.scores.tolist(), strict=True)) == {
        (0, 1): 9.0,
        (1, 0): 6.0,
    }
    edges = torch.tensor([[99.0, 1.0, 2.0], [99.0, 99.0, 4.0], [99.0, 99.0, 99.0]])
    assert sorted(brute_force.spanning_tree(3, edges).scores.tolist()) == [3.0, 5.0, 6.0]


def test_padding_is_minus_one_and_has_no_parts():
    for table in (
        brute_force.chain(2, torch.zeros(4, 3), torch.zeros(3, 3)),
        brute_force.projective_tree(2, torch.zeros(4, 5)),
    ):
        assert (table.events[:, 2:] == -1).all()
        assert (table.parts[:, 2:] == 0).all()
        assert (table.parts[:, :2].sum(-1) == 1).all()


def test_the_empty_structure_weighs_one():
    table = brute_force.chain(0, torch.randn(3, 2), torch.randn(2, 2))
    assert table.events.tolist() == [[-1, -1, -1]]
    assert table.log_partition == table.log_count == table.entropy() == 0


def test_scores_are_sums_over_the_parts_by_hand():
    unary = torch.tensor([[1.0, 2.0], [4.0, 8.0]])
    shared = brute_force.chain(2, unary, torch.tensor([[16.0, 32.0], [64.0, 128.0]]))
    assert shared.scores.tolist() == [1 + 4 + 16, 1 + 8 + 32, 2 + 4 + 64, 2 + 8 + 128]
    per_step = brute_force.chain(3, torch.zeros(3, 1), torch.tensor([[[1.0]], [[2.0]]]))
    assert per_step.scores.tolist() == [3.0]
    arcs = torch.tensor([[1.0, 99.0, 2.0], [4.0, 8.0, 99.0]])
    trees = brute_force.non_projective_tree(2, arcs, single_root=False)
    assert dict(zip(map(tuple, trees.events.tolist()), trees.scores.tolist(), strict=True)) == {
        (0, 0): 5.0,
        (0, 1): 9.0,
        (2, 0): 6.0,
    }


@pytest.fixture
def table() -> brute_force.Table:
    """Two tags with probabilities 1/8 and 7/8, and a third that is forbidden."""
    unary = torch.tensor([[0.0, math.log(7), -math.inf]], dtype=torch.float64)
    return brute_force.chain(1, unary, torch.zeros(3, 3))


def test_sums_by_hand(table):
    assert table.log_partition.item() == pytest.approx(math.log(8))
    assert table.marginals.tolist() == [pytest.approx([1 / 8, 7 / 8, 0])]
    assert table.entropy().item() == pytest.approx(-(1 / 8 * math.log(1 / 8) + 7 / 8 * math.log(7 / 8)))
    assert table.log_count.item() == pytest.approx(math.log(2))
    assert table.expectation(torch.tensor([[8.0, 16.0, 99.0]])).item() == pytest.approx(15)
    assert table.expected_count(torch.tensor([0])).item() == pytest.approx(1 / 8)
    assert table.best_expected_count.item() == pytest.approx(7 / 8)


def test_maxima_by_hand(table):
    assert table.max_score.item() == pytest.approx(math.log(7))
    scores, events = table.topk(4)
    assert scores.tolist() == pytest.approx([math.log(7), 0, -math.inf, -math.inf])
    assert events.tolist() == [[1], [0], [-1], [-1]]
    assert table.max_marginals.tolist() == [pytest.approx([0, math.log(7), -math.inf])]


def test_probabilities_by_hand(table):
    event, known = torch.tensor([0]), torch.tensor([True])
    assert table.log_prob(event).item() == pytest.approx(math.log(1 / 8))
    assert table.log_prob(torch.tensor([2])) == -math.inf
    assert table.partial_log_prob(event, known).item() == pytest.approx(math.log(1 / 8))
    assert table.partial_log_prob(event, ~known).item() == 0
    even = brute_force.chain(1, torch.zeros(1, 3), torch.zeros(3, 3))
    assert table.cross_entropy(even).item() == pytest.approx(math.log(3))
    assert even.cross_entropy(table) == math.inf


def test_conditions_by_hand(table):
    nothing = torch.zeros(1, 3, dtype=torch.bool)
    first = torch.tensor([[True, False, False]])
    assert table.condition(first, nothing).marginals.tolist() == [[1, 0, 0]]
    assert table.condition(nothing, first).marginals.tolist() == [[0, 1, 0]]
    impossible = table.condition(first, first)
    assert impossible.log_partition == impossible.log_count == impossible.max_score == -math.inf
    assert (impossible.marginals == 0).all()
    assert impossible.topk(1)[1].tolist() == [[-1]]


def test_the_oracle_is_differentiable(table):
    unary = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)
    transition = torch.randn(2, 2, dtype=torch.float64, requires_grad=True)
    log_partition = brute_force.chain(3, unary, transition).log_partition
    gradient, of_transition = torch.autograd.grad(log_partition, (unary, transition))
    assert torch.allclose(gradient, brute_force.chain(3, unary, transition).marginals)
    assert of_transition.sum().item() == pytest.approx(2)


@pytest.mark.parametrize(("n", "m", "count"), [(0, 0, 1), (1, 4, 1), (2, 2, 3), (3, 3, 13), (4, 3, 25)])
def test_numbers_of_paths_are_delannoys(n, m, count):
    table = brute_force.monotone_alignment(n, m, torch.zeros(4, 4, 3), torch.zeros(3, 3))
    assert len(torch.unique(table.events, dim=0)) == len(table.events) == count


def test_a_path_is_scored_by_moves_and_pairs_of_moves():
    moves, transition = torch.arange(12.0).reshape(2, 2, 3), 100.0 * torch.arange(9.0).reshape(3, 3)
    table = brute_force.monotone_alignment(2, 2, moves, transition)
    found = dict(zip(map(str, table.events.tolist()), table.scores.tolist(), strict=True))
    assert found["[[0, -1], [-1, 0]]"] == 9.0
    assert found["[[0, 1], [-1, 2]]"] == 4.0 + 11.0 + 100.0 + 500.0
    assert found["[[0, -1], [2, 1]]"] == 8.0 + 10.0 + 200.0 + 700.0


def test_labellings_that_say_a_target():
    logits = torch.arange(6.0).reshape(3, 2)
    same = brute_force.ctc(3, logits, (1, 1))
    assert same.events.tolist() == [[1, 0, 1]]
    assert same.scores.tolist() == [1.0 + 2.0 + 5.0]
    one = {tuple(event) for event in brute_force.ctc(3, logits, (1,)).events.tolist()}
    assert one == {(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (0, 1, 1), (1, 1, 1)}
    assert brute_force.ctc(3, logits, (0,), blank=1).events.tolist()[0] == [0, 0, 0]


def test_what_is_kept_may_be_asked_for_gradients_later():
    """Trees are enumerated once: here under `inference_mode`, in which tensors never get a gradient."""
    sizes = {"root": (2,), "rules": (2, 5, 5), "emission": (3, 3), "spans": (4, 4, 5)}
    scores = {
        name: torch.randn(size, dtype=torch.float64, requires_grad=True) for name, size in sizes.items()
    }
    grammars._places.cache_clear()
    constituency.labelled_trees.cache_clear()
    for make in (
        lambda: brute_force.pcfg(3, *(scores[name] for name in ("spans", "root", "rules", "emission"))),
        lambda: brute_force.span_tree(3, scores["spans"], True),
        lambda: brute_force.bit_span_tree(3, scores["spans"][..., :2]),
    ):
        with torch.inference_mode():
            make()
        (gradient,) = torch.autograd.grad(make().log_partition, scores["spans"])
        assert gradient.any()
        make().events.fill_(7)
        assert (make().events < 7).all()
