"""Any size, batch shape, lengths and pattern of scores: every number equals the one found by enumeration."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.further import SUBJECTS

from strukt.testing.comparison import agree
from strukt.testing.operators import operators, random_arguments, truth
from strukt.testing.patterns import fill, one_row


@st.composite
def random_cases(draw, subject):
    """A case of a random shape, its scores drawn from a few interesting numbers or from a wide range."""
    size = draw(st.integers(2, 4), label="size")
    shape = tuple(draw(st.lists(st.integers(1, 3), max_size=2), label="batch shape"))
    lengths = draw(st.lists(st.integers(0, size), min_size=1, max_size=9), label="lengths")
    case = subject.case(shape, size=size, lengths=lengths, seed=draw(st.integers(0, 10**6), label="seed"))
    case = case.map(draw(st.sampled_from(TRANSFORMS), label="scores"))
    share = draw(st.sampled_from([0.0, 0.2, 0.6]), label="share forbidden")
    drawn = [
        torch.rand(score.shape, generator=torch.Generator().manual_seed(size)) < share
        for score in case.scores
    ]
    return fill(case, [mask & ~kept for mask, kept in zip(drawn, case.used(one_row), strict=True)], -math.inf)


def as_drawn(scores):
    return scores


def ten_times(scores):
    return 10 * scores


def rounded(scores):
    return scores.round()


def only_signs(scores):
    return 1e4 * scores.sign()


def nothing(scores):
    return torch.zeros_like(scores)


TRANSFORMS = [as_drawn, ten_times, rounded, only_signs, nothing]

EXAMPLES = settings().max_examples // 3
"""A third of those of other properties: an example asks for everything."""


@SUBJECTS
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_numbers_equal_enumeration(subject, data):
    case = data.draw(random_cases(subject))
    asked = random_arguments(case)
    for operator in operators(case):
        agree(case, operator.name, operator.of(case.distribution(), asked), truth(case, operator, asked))


@SUBJECTS
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_events_are_permitted_and_best(subject, data):
    case = data.draw(random_cases(subject))
    distribution = case.distribution()
    samples, modes, best = distribution.sample((3,)), distribution.mode, distribution.topk(4)[1]
    for index, table in zip(case.indices, case.tables, strict=True):
        permitted = table.permitted
        assert table.score(modes[index]) == pytest.approx(table.max_score.item())
        assert all(permitted.find(sample).any() for sample in samples[(slice(None), *index)])
        events = best[index][: len(permitted.events)]
        assert len(torch.unique(events, dim=0)) == len(events)
        scores = torch.stack([permitted.score(event) for event in events])
        assert torch.allclose(scores, table.topk(4)[0][: len(events)])
