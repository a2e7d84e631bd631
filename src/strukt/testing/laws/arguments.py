"""Laws of wrong arguments, which must raise errors that name the argument and its value.

Validation is switched on explicitly, because `torch.compile` switches it off for all distributions of a process.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from strukt.testing.comparison import demand
from strukt.testing.law import law
from strukt.testing.operators import first_entry, random_arguments
from strukt.testing.subject import Case, Subject


@law()
def wrong_scores_are_refused(subject: Subject) -> None:
    """Check that integer, complex, sparse and meta scores, wrong shapes, NaN and +inf raise errors."""
    case = _case(subject)
    for place, (name, mask) in enumerate(zip(subject.arguments, case.used(), strict=True)):
        score, entry = case.scores[place], first_entry(mask)
        wide = torch.cat([score, score[..., :1]], -1)
        wrong_scores: list[tuple[torch.Tensor, tuple[str, ...]]] = [
            (score.long(), (name, "int64")),
            (score.flatten()[0], (name, "()")),
            *([] if name in subject.free else [(wide, (str(tuple(wide.shape)),))]),
            (score.to("meta"), (name, "meta")),
            (score.to_sparse(), (name, "sparse", "dense")),
            (score.to(torch.complex128), (name, "complex128", "real")),
            (score.masked_fill(entry, torch.nan), (name, "nan")),
            (score.masked_fill(entry, torch.inf), (name, "inf")),
        ]
        for wrong, words in wrong_scores:
            scores = [*case.scores[:place], wrong, *case.scores[place + 1 :]]
            _refused(case, "make", words, partial(case.with_scores(scores).distribution, True))


@law()
def wrong_lengths_are_refused(subject: Subject) -> None:
    """Check that lengths of a wrong dtype, shape or device, or out of range, raise errors."""
    case = _case(subject)
    for wrong, description in (
        (case.lengths.double(), "float64"),
        (case.lengths[:1], "(1,)"),
        (case.lengths[0], "()"),
        (case.lengths - case.size - 1, "-1"),
        (case.lengths + 1, str(case.size + 1)),
        (torch.zeros(2, dtype=torch.long, device="meta"), "meta"),
    ):
        _refused(case, "make", ("lengths", description), partial(replace(case, lengths=wrong).distribution, True))


@law()
def checks_can_be_switched_off(subject: Subject) -> None:
    """Check that ``validate_args=False`` builds a distribution over scores that hold NaN without an error."""
    case = _case(subject).map(lambda score: torch.full_like(score, torch.nan))
    case.distribution(validate_args=False)


@law("score", "log_prob", "partial_log_prob")
def wrong_events_are_refused(subject: Subject) -> None:
    """Check that events that are not structures, or have a wrong shape or dtype, raise errors."""
    case = _case(subject)
    distribution, arguments = case.distribution(validate_args=True), random_arguments(case)
    narrow = arguments.event[..., :-1]
    for name in ("score", "log_prob", "to_parts"):
        for wrong, description in (
            (torch.full_like(arguments.event, 99), "99"),
            (narrow, str(tuple(narrow.shape))),
            (arguments.event.double(), "float64"),
        ):
            _refused(case, name, ("event", description), partial(getattr(distribution, name), wrong))
    _refused(case, "is_structure", ("event", str(tuple(narrow.shape))), partial(distribution.is_structure, narrow))
    for number in (99, -100):
        event, known = torch.full_like(arguments.event, number), torch.ones_like(arguments.known)
        _refused(
            case,
            "partial_log_prob",
            ("event", str(number)),
            partial(distribution.partial_log_prob, event, known),
        )


@law("condition", "expectation", "topk", "partial_log_prob", "cross_entropy")
def wrong_arguments_are_refused(subject: Subject) -> None:
    """Check that masks and values of wrong type or shape, k = 0, and distributions of other sizes raise errors."""
    case = _case(subject)
    p, arguments = case.distribution(validate_args=True), random_arguments(case)
    narrow, values = arguments.required[..., :-1], arguments.values.repeat_interleave(2, -1)
    shape = str(tuple(narrow.shape))
    wide = str(tuple(values.shape))
    larger = subject.case((2,), size=case.size + 1, lengths=[case.size]).distribution()
    attempts: list[tuple[str, tuple[str, ...], Callable[[], Any]]] = [
        ("condition", ("required", "float64"), lambda: p.condition(required=arguments.values)),
        ("condition", ("required", shape), lambda: p.condition(required=narrow)),
        ("condition", ("forbidden", shape), lambda: p.condition(forbidden=narrow)),
        (
            "partial_log_prob",
            ("known", "int64"),
            lambda: p.partial_log_prob(arguments.event, arguments.event),
        ),
        (
            "partial_log_prob",
            ("known",),
            lambda: p.partial_log_prob(arguments.event, arguments.known[..., :-1]),
        ),
        ("expectation", ("values", wide), lambda: p.expectation(values)),
        ("topk", ("k", "0"), lambda: p.topk(0)),
        ("cross_entropy", ("other",), lambda: p.cross_entropy(larger)),
    ]
    for name, words, attempt in attempts:
        _refused(case, name, words, attempt)


def _case(subject: Subject) -> Case:
    """Return a batch of two items of full length."""
    return subject.case((2,), lengths=[subject.size])


def _refused(case: Case, member: str, words: tuple[str, ...], attempt: Callable[[], Any]) -> None:
    """Demand that ``attempt`` raises a ValueError whose message contains all the words."""
    try:
        attempt()
    except ValueError as error:
        missing = [word for word in words if word.lower() not in str(error).lower()]
        demand(not missing, case, f"{member}: the message {str(error)!r} should mention {missing}")
        return
    demand(False, case, f"{member} accepts a wrong argument; the message should mention {list(words)}")
