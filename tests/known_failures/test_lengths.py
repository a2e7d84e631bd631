"""Lengths: none of them full, all of them 0 or 1, no room at all; padding of events and of other tensors."""

import math

import pytest
import torch
from tests.further import SUBJECTS
from tests.known_failures.everything import own

from strukt.distributions import (
    CTC,
    KDPP,
    PCFG,
    BinaryCRF,
    BitSpanTree,
    KSubset,
    LexicalisedTree,
    LinearChain,
    LowRankPCFG,
    Matching,
    MonotoneAlignment,
    NonProjectiveTree,
    ProjectiveTree,
    SemiMarkov,
    SpanningTree,
    SpanTree,
    Transducer,
)
from strukt.testing.comparison import agree
from strukt.testing.operators import operators, random_arguments, truth
from strukt.testing.patterns import fill
from strukt.testing.subjects import STRUCTURES


def compare_with_enumeration(case):
    asked = random_arguments(case)
    for operator in operators(case):
        agree(case, operator.name, operator.of(case.distribution(), asked), truth(case, operator, asked))


@SUBJECTS
def test_no_item_has_to_be_as_long_as_the_tensor(subject):
    """At least one length must equal the largest elsewhere; and length 0 reads the last position, index -1."""
    for lengths in ([subject.size - 1, 1], [1, 0], [0, 0]):
        compare_with_enumeration(subject.case((2,), lengths=lengths))


OF_ONE = [s for s in STRUCTURES if s.shortest == 1 and s.draw(torch.Generator(), (), 2)[0].shape != (2, 1, 3)]


@pytest.mark.parametrize("subject", OF_ONE, ids=lambda subject: subject.name)
def test_tensors_of_a_single_position(subject):
    """A chain of one word has no transition, a tree of one word one arc: elsewhere an error, or -1e5."""
    compare_with_enumeration(subject.case((2,), size=1, lengths=[1, 0]))


NOTHING = {
    "LinearChain": lambda: LinearChain(torch.zeros(2, 0, 3), torch.zeros(3, 3)),
    "SemiMarkov": lambda: SemiMarkov(torch.zeros(2, 0, 2, 3), torch.zeros(3, 3)),
    "ProjectiveTree": lambda: ProjectiveTree(torch.zeros(2, 0, 1)),
    "labelled ProjectiveTree": lambda: ProjectiveTree(torch.zeros(2, 0, 1, 2), labelled=True),
    "NonProjectiveTree": lambda: NonProjectiveTree(torch.zeros(2, 0, 1)),
    "labelled NonProjectiveTree": lambda: NonProjectiveTree(torch.zeros(2, 0, 1, 2), labelled=True),
    "SpanTree": lambda: SpanTree(torch.zeros(2, 1, 1)),
    "LexicalisedTree": lambda: LexicalisedTree(torch.zeros(2, 1, 1), torch.zeros(2, 0, 1)),
    "BitSpanTree": lambda: BitSpanTree(torch.zeros(2, 1, 1, 3)),
    "PCFG": lambda: PCFG(torch.zeros(2), torch.zeros(2, 5, 5), torch.zeros(2, 0, 3)),
    "LowRankPCFG": lambda: LowRankPCFG(
        torch.zeros(2), torch.zeros(4, 5), torch.zeros(4, 5), torch.zeros(2, 4), torch.zeros(2, 0, 3)
    ),
    "CTC": lambda: CTC(torch.zeros(2, 0, 3), torch.zeros(2, 0, dtype=torch.int64)),
    "MonotoneAlignment": lambda: MonotoneAlignment.from_moves(torch.zeros(2, 0, 0, 3)),
    "Transducer": lambda: Transducer(torch.zeros(2, 0, 1, 2)),
    "KSubset": lambda: KSubset(torch.zeros(2, 0), 0),
    "KDPP": lambda: KDPP(torch.zeros(2, 0, 0), 0),
    "Matching": lambda: Matching(torch.zeros(2, 0, 3)),
    "Matching without columns": lambda: Matching(torch.zeros(2, 0, 0)),
    "SpanningTree": lambda: SpanningTree(torch.zeros(2, 0, 0)),
    "BinaryCRF": lambda: BinaryCRF(torch.zeros(2, 0), torch.zeros(2, 0, 0)),
}


@pytest.mark.thinned("make", "backend")
@pytest.mark.parametrize("make", NOTHING.values(), ids=NOTHING)
@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_no_position_at_all_leaves_one_empty_structure(make, backend, monkeypatch):
    """Elsewhere the value of an empty input is an error, or that of some other cell."""
    monkeypatch.setenv("STRUKT_BACKEND", backend)
    nothing = make()
    for value in (nothing.log_partition, nothing.max_score, nothing.entropy(), nothing.log_count):
        assert value.tolist() == [0, 0]
    assert nothing.log_prob(nothing.mode).tolist() == [0, 0]
    assert torch.equal(nothing.sample((3,)), nothing.mode.expand(3, *nothing.mode.shape))
    assert nothing.topk(2)[0].tolist() == [[0, -math.inf]] * 2
    assert nothing.marginals.eq(0).all()
    assert nothing.max_marginals.eq(-math.inf).all()
    assert nothing.mode.shape == nothing.batch_shape + nothing.event_shape
    assert torch.equal(nothing.enumerate_support(), nothing.mode.unsqueeze(0))
    if type(nothing) is not BitSpanTree:  # which cannot be read from parts
        assert torch.equal(nothing.from_parts(nothing.to_parts(nothing.mode)), nothing.mode)
    if type(nothing) is not LowRankPCFG:  # whose best trees have no algorithm
        assert nothing.sparsemap().weights.tolist() == [[1], [1]]


@pytest.mark.thinned("subject", "filler")
@SUBJECTS
@pytest.mark.parametrize("filler", [-100, 99])
def test_padding_of_events_may_hold_anything(subject, filler):
    """Tags padded with -100, as losses have it, are an IndexError elsewhere."""
    case = subject.case((3,), lengths=[subject.size, 1, 2])
    distribution, asked = case.distribution(), random_arguments(case)
    every = [table.events for table in case.tables]
    beyond = case.stack([(events == -1).all(0) for events in every])
    padded = asked.event.masked_fill(beyond, filler)
    assert distribution.is_structure(padded).all()
    assert torch.equal(distribution.log_prob(padded), distribution.log_prob(asked.event))
    assert torch.equal(distribution.to_parts(padded), distribution.to_parts(asked.event))
    if "partial_log_prob" in subject.lacks:
        return
    found, expected = (distribution.partial_log_prob(event, asked.known) for event in (padded, asked.event))
    assert torch.equal(found, expected)


@SUBJECTS
def test_padding_is_not_read_by_the_other_marginals(subject):
    """Marginals of transitions elsewhere are not given, or are NaN where the padding is."""
    case = subject.case((3,))
    dirty = fill(case, case.padding(), math.nan)
    for name, of in own(case.distribution()).items():
        clean = of(case.distribution(), None)
        assert torch.allclose(of(dirty.distribution(), None), clean, rtol=1e-12, atol=1e-12), name
