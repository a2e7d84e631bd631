"""Laws of events: mode, k best, minimum Bayes risk, parts, support."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.autograd import grad

from strukt.testing.brute_force import Table
from strukt.testing.comparison import agree, demand
from strukt.testing.law import law
from strukt.testing.operators import random_arguments
from strukt.testing.patterns import PATTERNS, forbid_at_random
from strukt.testing.subject import Case, Subject


@law("mode", "max_score")
def mode_is_the_best_structure(subject: Subject) -> None:
    """Check that the mode is permitted and no structure scores higher, also with ties, -inf and huge scores."""
    for case in _cases(subject):
        modes = case.distribution().mode
        demand(modes.dtype == torch.long, case, f"mode is made of integers, not {modes.dtype}")
        best = [table.max_score for table in case.tables]
        agree(case, "the score of the mode is the best score", _scores(case, "mode", modes), case.stack(best))


@law("topk")
def topk_are_the_best_structures(subject: Subject) -> None:
    """Check that `topk` returns distinct structures of the best scores, in descending order, padded with -1."""
    for case in _cases(subject):
        for k in (1, 5, max(len(table.events) for table in case.tables) + 2):
            scores, events = case.distribution().topk(k)
            agree(case, f"topk({k}) scores", scores, case.stack([table.topk(k)[0] for table in case.tables]))
            for index, table in zip(case.indices, case.tables, strict=True):
                _check_ranking(case, index, table, scores[index], events[index])


@law("topk", "log_partition")
def probabilities_of_topk_are_those_of_its_structures(subject: Subject) -> None:
    """Compare the probabilities of the k best with those of the enumeration, for several batch shapes."""
    many = 2 + max(len(table.events) for table in subject.case().tables)
    for shape, k in (((), 2), ((3,), 3), ((2, 3), 3), ((2,), many)):
        case = subject.case(shape)
        best = case.distribution().topk(k)
        expected = case.stack([table.topk(k)[0] - table.log_partition for table in case.tables])
        agree(case, f"topk({k}).log_probs", best.log_probs, expected)
        agree(case, f"topk({k}).probs", best.probs, expected.exp())


@law("mbr", "marginals")
def mbr_has_the_highest_expected_count(subject: Subject) -> None:
    """Check that no permitted structure shares more parts on average with a random one than `mbr` does."""
    for case in _cases(subject):
        events = case.distribution().mbr
        counts = [
            table.expected_count(_row(case, "mbr", table, event).events[0])
            for table, event in _pairs(case, events)
        ]
        best = [table.best_expected_count for table in case.tables]
        agree(case, "the expected count of mbr is the highest", case.stack(counts), case.stack(best))


@law()
def parts_and_events_are_two_forms_of_one_thing(subject: Subject) -> None:
    """Check that `to_parts` returns the enumerated part vectors, and that `from_parts` is its inverse."""
    case = subject.case((2,), lengths=[subject.size, 1])
    for index, table in zip(case.indices, case.tables, strict=True):
        distribution = case.item(index).distribution()
        for event, parts in zip(table.events, table.parts, strict=True):
            result = distribution.to_parts(event)
            same = torch.equal(result.to(parts.dtype), parts)
            demand(same, case, f"to_parts({event.tolist()}) are its parts")
            if "from_parts" not in subject.lacks:
                back = torch.equal(distribution.from_parts(result), event)
                demand(back, case, f"from_parts(to_parts({event.tolist()})) is the event")


@law("score")
def gradient_of_score_is_the_parts(subject: Subject) -> None:
    """Compare the gradient of the score with the parts, since a score is a sum over parts."""
    case = subject.case().leaves()
    event, distribution = random_arguments(case).event, case.distribution()
    (gradient,) = grad(distribution.score(event).sum(), case.scores[:1])
    parts = distribution.to_parts(event).to(gradient.dtype)
    agree(case, "the gradient of score(event) is to_parts(event)", gradient, parts)


@law("score", "log_prob")
def sample_shapes_are_scored(subject: Subject) -> None:
    """Check that `score` and `log_prob` accept events with leading sample dimensions."""
    case = subject.case((2,))
    event, distribution = random_arguments(case).event, case.distribution()
    stacked = event.expand(3, *event.shape)
    for name in ("score", "log_prob"):
        one, many = getattr(distribution, name)(event), getattr(distribution, name)(stacked)
        same = torch.equal(many, one.expand(3, 2))
        demand(same, case, f"{name} of events with sample dimensions is that of each")


@law("log_prob")
def one_item_scores_several_events(subject: Subject) -> None:
    """Check that a distribution with batch size 1 scores several events together as it scores each alone."""
    case = subject.case((1,)).leaves()
    distribution, events = case.distribution(), case.tables[0].events[:3]
    together = distribution.log_prob(events)
    apart = torch.cat([distribution.log_prob(event.unsqueeze(0)) for event in events])
    agree(case, "log_prob of several events is that of each", together, apart)
    for result, expected in zip(grad(together.sum(), case.scores), grad(apart.sum(), case.scores), strict=True):
        agree(case, "the gradient of several log_probs is the sum of those of each", result, expected)


@law("log_prob")
def memory_layout_of_scores_does_not_matter(subject: Subject) -> None:
    """Compare the log-probability and its gradient for scores in ordinary and in reversed memory order."""
    case = subject.case((2,))
    event = random_arguments(case).event
    values = []
    for arranged in (case.leaves(), case.map(_reversed_in_memory).leaves()):
        value = arranged.distribution().log_prob(event)
        values.append((value.detach(), *grad(value.sum(), arranged.scores)))
    for result, expected in zip(*values, strict=True):
        agree(case, "log_prob and its gradient are the same in any memory layout", result, expected)


@law("enumerate_support")
def support_is_enumerated(subject: Subject) -> None:
    """Check that `enumerate_support` lists every structure exactly once."""
    case = subject.case((2,), lengths=[subject.size])
    listed = case.distribution().enumerate_support()
    for index, table in zip(case.indices, case.tables, strict=True):
        rows = {tuple(event.flatten().tolist()) for event in listed[:, index[0]]}
        truth = {tuple(event.flatten().tolist()) for event in table.events}
        complete = rows == truth and len(listed) == len(truth)
        demand(complete, case, "enumerate_support lists every structure once")


@law()
def support_knows_structures(subject: Subject) -> None:
    """Check that `support.check` accepts every structure, and no other event that differs from one in one entry.

    Padding may have any value. `explain` must say of exactly the other events that they are no structures.
    """
    size = min(3, subject.size)
    case = subject.case((2,), size=size, lengths=[size, size - 1])
    for index, table in zip(case.indices, case.tables, strict=True):
        distribution = case.item(index).distribution()
        unused = (table.events == -1).all(0)
        for event in _neighbourhood(table):
            expected = bool(table.find(event.masked_fill(unused, -1)).any())
            verdict = bool(distribution.support.check(event))
            claim = f"support.check({event.tolist()}) is {expected} at length {int(case.lengths[index])}"
            demand(verdict == expected, case, claim)
            explained = "is not a structure of" in (distribution.explain(event) or "")
            demand(explained != expected, case, f"explain({event.tolist()}) says whether it is a structure")


def _cases(subject: Subject) -> list[Case]:
    """Return a batch, a single item, a float32 batch with forbidden parts, and a batch for each of `PATTERNS`."""
    edges = [
        pattern(subject.case((4,), lengths=[subject.size, subject.size - 1, 2, 1])) for pattern in PATTERNS
    ]
    return [subject.case(), subject.case(()), forbid_at_random(subject.case()).map(Tensor.float), *edges]


def _pairs(case: Case, events: Tensor) -> list[tuple[Table, Tensor]]:
    """Return the table and the event of each item."""
    return [(table, events[index]) for index, table in zip(case.indices, case.tables, strict=True)]


def _row(case: Case, member: str, table: Table, event: Tensor) -> Table:
    """Return the table of one event, the result of `member`; raise AssertionError if it is not permitted."""
    row = table.permitted.rows(table.permitted.find(event))
    demand(len(row.events) == 1, case, f"{member} is a permitted structure, but {event.tolist()} is none")
    return row


def _scores(case: Case, member: str, events: Tensor) -> Tensor:
    """Return the enumerated score of each item's event, which must be permitted."""
    return case.stack([_row(case, member, table, event).scores[0] for table, event in _pairs(case, events)])


def _check_ranking(case: Case, index: tuple[int, ...], table: Table, scores: Tensor, events: Tensor) -> None:
    """Check the ranked events of one item: they are distinct and permitted, and their scores add up."""
    real = scores > -math.inf
    result = [_row(case, "topk", table, event).scores[0] for event in events[real]]
    if result:
        claim = f"topk scores belong to their events in item {index}"
        agree(case.item(index), claim, scores[real].sum(), torch.stack(result).sum())
    distinct = len(torch.unique(events[real], dim=0)) == len(result)
    demand(distinct, case, f"topk events of item {index} are distinct")
    demand((events[~real] == -1).all(), case, f"topk events of item {index} beyond the last are -1")


def _reversed_in_memory(score: Tensor) -> Tensor:
    """Return equal scores whose first axis is the innermost in memory."""
    axes = tuple(reversed(range(score.dim())))
    return score.permute(axes).contiguous().permute(axes)


def _neighbourhood(table: Table) -> Tensor:
    """Return every structure, and every event that differs from one in one entry."""
    flat = table.events.flatten(1)
    values = range(int(flat.min()) - 1, int(flat.max()) + 2)
    places = torch.eye(flat.shape[1], dtype=torch.bool)
    changed = [torch.where(place, value, flat) for place in places for value in values]
    rows: Tensor = torch.unique(torch.cat([flat, *changed]), dim=0)
    return rows.reshape(-1, *table.events.shape[1:])
