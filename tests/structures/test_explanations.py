"""An invalid event says which item and why; a possible one with probability 0 is explained on request."""

import math

import pytest
import torch

import strukt
from strukt.testing.laws.events import _neighbourhood
from strukt.testing.subjects import STRUCTURES

NOTHING = -math.inf


def why(distribution, event):
    with pytest.raises(ValueError, match="is not a structure of") as caught:
        distribution.log_prob(torch.tensor(event))
    return str(caught.value).split(": ", 1)[1].rsplit("): ", 1)[1]


@pytest.mark.parametrize("subject", STRUCTURES, ids=lambda subject: subject.name)
def test_every_event_that_is_refused_is_explained(subject):
    """Every structure and every event that differs from one in one entry: a fault where it is none, else none."""
    size = min(3, subject.size)
    case = subject.case((2,), size=size, lengths=[size, size - 1])
    for index, table in zip(case.indices, case.tables, strict=True):
        distribution = case.item(index).distribution()
        constants = [constant.tolist() for constant in distribution.constants]
        events = _neighbourhood(table)[::3]
        for event, valid in zip(events, distribution.is_structure(events).tolist(), strict=True):
            fault = distribution._fault(event.tolist(), int(distribution.lengths), constants)
            assert (fault is None) == valid, (event.tolist(), fault)


@pytest.mark.parametrize(
    ("heads", "reason"),
    [
        ([0, 5, 1, 1, 2], "words 2 and 5 form a cycle"),
        (
            [2, 0, 2, 0, 4],
            "words 2 and 4 are roots, with head 0; expected one; single_root=False allows several",
        ),
        ([2, 1, 2, 3, 4], "no word is the root; expected one with head 0"),
        ([2, 0, 3, 2, 4], "word 3 is its own head; expected another word, or 0 for the root"),
        ([2, 0, 6, 2, 4], "head 6 of word 3 is out of range; expected 0 for the root, or a word up to 5"),
        (
            [2, 0, -100, 2, 4],
            "word 3 holds -100, within the length 5; expected a head from 0, the root, to 5. Padding belongs "
            "beyond the lengths; for unknown entries use partial_log_prob(event, known)",
        ),
    ],
)
def test_heads(heads, reason):
    for family in (strukt.NonProjectiveTree, strukt.ProjectiveTree):
        assert why(family(torch.zeros(5, 6)), heads) == reason


def test_crossing_arcs():
    trees = strukt.ProjectiveTree(torch.zeros(4, 5))
    allowed = "cross; NonProjectiveTree allows it"
    assert why(trees, [0, 4, 1, 1]) == f"the arcs between 1 and 3 and between 2 and 4 {allowed}"
    assert why(trees, [3, 4, 0, 3]) == f"the arcs between the root and 3 and between 2 and 4 {allowed}"


def test_several_roots_where_they_are_allowed():
    trees = strukt.NonProjectiveTree(torch.zeros(5, 6), single_root=False)
    assert trees.log_prob(torch.tensor([2, 0, 2, 0, 4])).isfinite()
    assert why(trees, [2, 3, 2, 0, 4]) == "words 2 and 3 form a cycle"


def test_the_item_is_named():
    heads = torch.tensor([2, 0, 2])
    wrong = torch.tensor([2, 1, 0])
    for batch, samples, place in (
        ((4,), (), "of batch item 1"),
        ((2, 2), (), r"of batch item \(0, 1\)"),
        ((4,), (3,), "of sample 2, batch item 1"),
        ((), (3, 2), r"of sample \(2, 1\)"),
    ):
        trees = strukt.NonProjectiveTree(torch.zeros(*batch, 3, 4), labelled=False)
        events = heads.expand(*samples, *batch, 3).clone()
        flat = events.view(-1, 3)
        flat[-3 if samples and batch else -1 if samples else 1] = wrong
        with pytest.raises(
            ValueError, match=rf"^the event \[2, 1, 0\] {place} is not a .*: words 1 and 2 form a"
        ):
            trees.score(events)


@pytest.mark.parametrize(
    ("distribution", "event", "reason"),
    [
        (
            strukt.LinearChain(torch.zeros(3, 2), torch.zeros(2, 2)),
            [0, 2, 1],
            "tag 2 at position 1 is out of range; expected 0 to 1",
        ),
        (
            strukt.LinearChain(torch.zeros(3, 2), torch.zeros(2, 2)),
            [0, -100, 1],
            "position 1 holds -100, within the length 3; expected a tag from 0 to 1. Padding belongs beyond the "
            "lengths; for unknown entries use partial_log_prob(event, known)",
        ),
        (
            strukt.SemiMarkov(torch.zeros(4, 2, 2)),
            [1, -1, -1, 0],
            "the segment from position 0 to 2 has 3 positions; expected at most 2, the longest with a score",
        ),
        (
            strukt.SemiMarkov(torch.zeros(3, 2, 2)),
            [-1, 0, 0],
            "no segment starts at position 0; expected segments that cover the sequence without gaps",
        ),
        (
            strukt.SpanTree(torch.zeros(4, 4)),
            [[-1, 0, 0, 0], [-1, -1, 0, 0], [-1, -1, -1, 0], [-1] * 4],
            "the spans from fencepost 0 to 2 and from 1 to 3 cross",
        ),
        (
            strukt.SpanTree(torch.zeros(4, 4)),
            [[-1, 0, 0, 0], [-1, -1, -1, -1], [-1, -1, -1, 0], [-1] * 4],
            "the span from fencepost 1 to 2, a single word, is missing; expected a label for every word",
        ),
        (
            strukt.SpanTree(torch.zeros(4, 4)),
            [[-1, 0, -1, 0], [-1, -1, 0, -1], [-1, -1, -1, 0], [-1] * 4],
            "the span from fencepost 0 to 3 is not split into two spans; expected a binary tree, which has 5 "
            "spans over 3 words, and this has 4",
        ),
        (
            strukt.SpanTree(torch.zeros(3, 3)),
            [[-1, 0, 1], [-1, -1, 0], [-1] * 3],
            "label 1 of the span from fencepost 0 to 2 is out of range; expected 0 to 0",
        ),
        (
            strukt.PCFG(torch.zeros(1), torch.zeros(1, 3, 3), torch.zeros(1, 2)),
            [[-1, 1], [-1, -1]],
            "a sentence of one word has no tree, because no nonterminal can head it",
        ),
        (strukt.KSubset(torch.zeros(4), 2), [1, 1, 1, 0], "it takes 3 items; expected 2"),
        (strukt.KSubset(torch.zeros(4), (0, 1)), [1, 1, 1, 0], "it takes 3 items; expected 0 to 1"),
        (strukt.KSubset(torch.zeros(4), 2), [2, 0, 0, 0], "position 0 holds 2; expected 0 or 1"),
        (
            strukt.Matching(torch.zeros(3, 4)),
            [2, 0, 2],
            "rows 0 and 2 take the same column 2",
        ),
        (
            strukt.SpanningTree(torch.zeros(4, 4)),
            [[-1, 1, 1, 0], [-1, -1, 1, 0], [-1, -1, -1, 0], [-1] * 4],
            "the edge (1, 2) closes a cycle",
        ),
        (
            strukt.SpanningTree(torch.zeros(4, 4)),
            [[-1, 1, 0, 0], [-1, -1, 0, 0], [-1, -1, -1, 1], [-1] * 4],
            "no edges connect vertex 0 with vertices 2 and 3",
        ),
        (
            strukt.MonotoneAlignment(*[torch.zeros(2, 3)] * 3),
            [[0, 1, -1], [-1, -1, 1]],
            "the insert into cell (1, 2) comes from cell (1, 1), which is not visited",
        ),
        (
            strukt.CTC(torch.zeros(4, 3), torch.tensor([1, 2])),
            [1, 1, 0, 1],
            "its labels collapse to [1, 1]; expected the target [1, 2]",
        ),
    ],
)
def test_reasons(distribution, event, reason):
    assert why(distribution, event) == reason
    assert distribution.explain(torch.tensor(event)).endswith(reason)


def test_what_is_beyond_a_length_is_no_fault():
    trees = strukt.NonProjectiveTree(torch.zeros(2, 3, 4), torch.tensor([3, 2]))
    assert trees.log_prob(torch.tensor([[2, 0, 2], [2, 0, -100]])).isfinite().all()


def test_possible_events_need_no_explanation():
    chain = strukt.LinearChain(torch.zeros(2, 3, 2), torch.zeros(2, 2))
    assert chain.explain(chain.sample((4,))) is None


@pytest.mark.parametrize(
    ("make", "event", "reason"),
    [
        (
            lambda: strukt.LinearChain(torch.zeros(1, 3, 2), torch.tensor([[0.0, NOTHING], [0.0, 0.0]])),
            [[1, 0, 1]],
            "transition[0, 1] is -inf for tag 1 at position 2 after tag 0",
        ),
        (
            lambda: strukt.LinearChain(torch.tensor([[0.0, NOTHING]] * 2), torch.zeros(2, 2)),
            [0, 1],
            "unary[1, 1] is -inf for tag 1 at position 1",
        ),
        (lambda: strukt.KSubset(torch.tensor([0.0, NOTHING]), 1), [0, 1], "scores[1] is -inf"),
        (
            lambda: strukt.KSubset(torch.zeros(2), 1, omitted=torch.tensor([0.0, NOTHING])),
            [1, 0],
            "omitted[1] is -inf",
        ),
        (
            lambda: strukt.KDPP(torch.ones(2, 2), 2),
            [1, 1],
            "its items are linearly dependent, so that their determinant is 0",
        ),
        (
            lambda: strukt.MonotoneAlignment(
                torch.zeros(1, 2), torch.tensor(NOTHING), torch.tensor(0.0), validate_args=True
            ),
            [[0, 1]],
            "insert[0, 1] is -inf",
        ),
        (
            lambda: strukt.SpanningTree(torch.zeros(2, 2)).condition(
                required=torch.ones(2, 2, dtype=torch.bool)
            ),
            None,
            None,
        ),
        (
            lambda: strukt.SpanningTree(torch.zeros(3, 3)).condition(
                required=torch.tensor([[False, True, False], [False] * 3, [False] * 3])
            ),
            [[-1, 0, 1], [-1, -1, 1], [-1] * 3],
            "it lacks the part [0, 1], which is required",
        ),
    ],
)
def test_forbidden_scores_are_named(make, event, reason):
    distribution = make()
    event = distribution.mode if event is None else torch.tensor(event)
    assert (distribution.log_prob(event) == NOTHING).all() == (reason is not None)
    found = distribution.explain(event)
    assert found is None if reason is None else found.endswith(f"has probability 0: {reason}")


def test_explanations_are_given_in_inference_mode_too():
    with torch.inference_mode():
        arcs = torch.zeros(2, 3, 4)
        arcs[1, 2, 1] = NOTHING
        trees = strukt.NonProjectiveTree(arcs, labelled=False)
        assert trees.explain(torch.tensor([[2, 0, 1], [2, 0, 1]])) == (
            "the event of batch item 1 has probability 0: arcs[2, 1] is -inf"
        )


def test_a_hidden_batch_is_refused_as_well():
    """Under vmap no data can be read where the event is known, so that the message has only the event."""
    arcs = torch.zeros(2, 3, 4)
    events = torch.tensor([[2, 0, 2], [2, 1, 0]])
    with pytest.raises(ValueError, match=r"the event \[2, 1, 0\] is not a structure of NonProjectiveTree"):
        torch.vmap(lambda arcs, event: strukt.NonProjectiveTree(arcs).log_prob(event))(arcs, events)
