"""Laws of samples: exact, independent, reproducible."""

from __future__ import annotations

import torch
from scipy.stats import chisquare
from torch import Tensor

from strukt.testing.brute_force import Table
from strukt.testing.comparison import demand
from strukt.testing.law import law
from strukt.testing.patterns import forbid_at_random
from strukt.testing.subject import Case, Subject

DRAWS = 4000
SIGNIFICANCE = 1e-4
"""The p-value below which a test fails: a correct sampler fails once in 10,000 seeds, and the seed is fixed."""


@law("sample")
def samples_have_the_right_frequencies(subject: Subject) -> None:
    """Test the counts of all structures against their probabilities by chi-square."""
    whole = subject.case((2,), lengths=[subject.size, 2])
    for case in (whole, forbid_at_random(whole)):
        torch.manual_seed(0)
        draws = case.distribution().sample((DRAWS,))
        for index, table in zip(case.indices, case.tables, strict=True):
            probabilities = torch.zeros(len(table.events), dtype=torch.float64)
            probabilities[table.scores > -torch.inf] = table.log_probs.exp()
            p = _p_value(_rows(case, table, draws[:, index[0]]), probabilities)
            claim = f"samples of item {index} have the right frequencies (chi-square p = {p:.1e})"
            demand(p > SIGNIFICANCE, case, claim)


@law("sample")
def samples_are_independent(subject: Subject) -> None:
    """Test pairs of successive draws, and of neighbouring items, for independence by chi-square."""
    pair = subject.case((), size=2, lengths=[2]).expand(2)
    table = pair.tables[0].permitted
    single = table.log_probs.exp()
    joint = torch.outer(single, single).flatten()
    torch.manual_seed(0)
    draws = pair.distribution().sample((DRAWS,))
    left, right = (_rows(pair, table, draws[:, column]) for column in (0, 1))
    for what, first, second in (("items of a batch", left, right), ("draws in a row", left[:-1], left[1:])):
        p = _p_value(first * len(single) + second, joint)
        demand(p > SIGNIFICANCE, pair, f"samples of two {what} are independent (chi-square p = {p:.1e})")


@law("sample")
def samples_are_reproducible(subject: Subject) -> None:
    """Check that equal seeds repeat samples, that later draws differ, and that any leading shape works."""
    case = subject.case((2, 3), lengths=[subject.size])
    distribution = case.distribution()
    shapes = [(), (5,), (2, 4), (0,)]
    torch.manual_seed(1)
    first = [distribution.sample(torch.Size(shape)) for shape in shapes]
    torch.manual_seed(1)
    again = [distribution.sample(torch.Size(shape)) for shape in shapes]
    others = [distribution.sample(torch.Size(shape)) for shape in shapes]
    for shape, one, two, other in zip(shapes, first, again, others, strict=True):
        expected = (*shape, *case.batch_shape, *distribution.event_shape)
        demand(one.shape == expected, case, f"sample({shape}) has shape {expected}, not {tuple(one.shape)}")
        demand(one.dtype == torch.long, case, f"samples are made of integers, not {one.dtype}")
        demand(torch.equal(one, two), case, f"sample({shape}) is the same after the same torch.manual_seed")
        differs = not one.numel() or not torch.equal(one, other)
        demand(differs, case, f"sample({shape}) differs from draw to draw")


@law("sample_without_replacement")
def distinct_samples_have_the_right_frequencies(subject: Subject) -> None:
    """Test by chi-square that two samples without replacement have the right joint distribution."""
    pair = forbid_at_random(subject.case((), size=2, lengths=[2]))
    table = pair.table().permitted
    copies = pair.expand(DRAWS).distribution()
    torch.manual_seed(0)
    draws = copies.sample_without_replacement(2)
    single = table.log_probs.exp()
    if len(single) < 2:
        demand((draws[:, 1] == -1).all(), pair, "there is no second structure where there is only one")
        return
    first, second = (_rows(pair, table, draws[:, place]) for place in (0, 1))
    joint = torch.outer(single, single) / (1 - single).unsqueeze(1)
    joint.fill_diagonal_(0)
    p = _p_value(first * len(single) + second, joint.flatten())
    demand(
        p > SIGNIFICANCE, pair, f"two distinct samples have the right frequencies (chi-square p = {p:.1e})"
    )


@law("sample_without_replacement")
def distinct_samples_find_every_structure(subject: Subject) -> None:
    """Check that sampling without replacement returns each permitted structure once, then -1."""
    case = forbid_at_random(subject.case((4,), size=min(3, subject.size), lengths=[3, 0, 1, 2]))
    largest = max(len(table.permitted.events) for table in case.tables)
    torch.manual_seed(0)
    result = case.distribution().sample_without_replacement(largest + 1)
    for index, table in zip(case.indices, case.tables, strict=True):
        truth = table.permitted.events
        count = len(truth)
        distinct = torch.unique(result[index][:count], dim=0)
        complete = len(distinct) == count and torch.equal(distinct, torch.unique(truth, dim=0))
        demand(complete, case, f"distinct samples of item {index} are all its structures")
        demand((result[index][count:] == -1).all(), case, f"and -1 beyond them in item {index}")


def _rows(case: Case, table: Table, events: Tensor) -> Tensor:
    """Return the index of the table row that holds each event."""
    equal = (events.unsqueeze(1) == table.events).flatten(2).all(2)
    demand(equal.any(1).all(), case, "every sample is a structure")
    return equal.int().argmax(1)


def _p_value(rows: Tensor, probabilities: Tensor) -> float:
    """Return the p-value of the chi-square test, with rare rows pooled; 0 if a row of probability 0 occurs."""
    counts = torch.bincount(rows, minlength=len(probabilities)).double()
    if counts[probabilities == 0].any():
        return 0.0
    expected = probabilities * len(rows)
    rare = expected < 5
    pooled = [torch.cat([each[~rare], each[rare].sum(0, keepdim=True)]) for each in (counts, expected)]
    used = pooled[1] > 0
    if used.sum() < 2:
        return 1.0
    return float(chisquare(pooled[0][used], pooled[1][used]).pvalue)
