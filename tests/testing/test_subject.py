"""The random cases that the suite draws are what they say they are."""

import math

import pytest
import torch

from strukt.testing import patterns
from strukt.testing.operators import random_arguments, rival
from strukt.testing.subject import ALWAYS_FEASIBLE
from strukt.testing.subjects import STRUCTURES

LOSABLE = pytest.mark.parametrize(
    "subject",
    [subject for subject in STRUCTURES if not subject.lacks & ALWAYS_FEASIBLE],
    ids=lambda subject: subject.name,
)
SUBJECTS = pytest.mark.parametrize("subject", STRUCTURES, ids=lambda subject: subject.name)


@SUBJECTS
def test_lengths_zero_shortest_and_full_are_in_every_batch(subject):
    assert {0, subject.shortest, subject.size} <= set(subject.case().lengths.flatten().tolist())


@SUBJECTS
def test_the_same_seed_draws_the_same_scores(subject):
    first, again, other = subject.case(), subject.case(), subject.case(seed=1)
    assert all(torch.equal(one, two) for one, two in zip(first.scores, again.scores, strict=True))
    assert not torch.equal(first.scores[0], other.scores[0])
    assert not torch.equal(first.scores[0], rival(first).scores[0])


@SUBJECTS
def test_padding_is_what_no_structure_of_the_length_uses(subject):
    case = subject.case((3,), lengths=[subject.size, 2, 0])
    whole, two, none = (mask.flatten().tolist() for mask in case.padding()[0])
    assert not any(whole)
    assert sum(two) < sum(none)
    for mask, used in zip(case.padding(), case.used(), strict=True):
        assert not (mask & used).any()


@SUBJECTS
def test_patterns_leave_what_they_promise(subject):
    case = subject.case((3,), lengths=[subject.size, 2, 1])
    left = [len(table.permitted.events) for table in patterns.leave_one(case).tables]
    assert left == [1, 1, 1] or ("from_parts" in subject.lacks and min(left) == 1)
    some = patterns.forbid_at_random(case)
    assert all(len(table.permitted.events) >= 1 for table in some.tables)
    assert any((score == -math.inf).any() for score in some.scores)
    assert all((score[score.isfinite()] == 0).all() for score in patterns.zero(case).scores)
    assert len(torch.unique(patterns.tied(case).tables[0].scores)) < len(case.tables[0].scores)


@LOSABLE
def test_leaving_no_structure_loses_one_item_and_leaves_parts(subject):
    case = subject.case((3,), lengths=[subject.size, 2, 1])
    lost = patterns.leave_none(case, (1,)).tables
    assert [len(table.permitted.events) > 0 for table in lost] == [True, False, True]
    left = patterns.leave_none(case, (0,)).scores[0][0]
    assert (left[case.used()[0][0]] > -math.inf).any()


@SUBJECTS
def test_questions_are_about_permitted_structures(subject):
    case = patterns.forbid_at_random(subject.case())
    asked = random_arguments(case)
    for index, table in zip(case.indices, case.tables, strict=True):
        assert table.permitted.find(asked.event[index]).any()
        assert len(table.condition(asked.required[index], asked.forbidden[index]).permitted.events) > 0
        parts = table.rows(table.find(asked.event[index])).parts
        assert asked.required[index].any() == (parts > 0).any()
