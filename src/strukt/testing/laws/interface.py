"""Laws of the interface of torch.distributions: shapes, expand, conditioning, partial observation, printing."""

from __future__ import annotations

import torch
from torch.distributions import Distribution

from strukt.testing.comparison import agree, demand
from strukt.testing.law import law
from strukt.testing.operators import OPERATORS, operators, random_arguments, rival
from strukt.testing.patterns import forbid_at_random
from strukt.testing.subject import Subject


@law()
def shapes_are_announced(subject: Subject) -> None:
    """Check that the structure is a torch.distributions.Distribution with the right batch and event shapes."""
    for shape in ((), (2, 3), (0,)):
        case = subject.case(shape)
        distribution = case.distribution()
        event_shape = subject.case(()).table().events.shape[1:]
        demand(isinstance(distribution, Distribution), case, "is a torch.distributions.Distribution")
        for name, expected in (("batch_shape", shape), ("event_shape", event_shape)):
            actual = getattr(distribution, name)
            demand(actual == expected, case, f"{name} is {expected}, not {actual}")
        demand(type(distribution).__name__ in repr(distribution), case, "prints its name")


@law()
def missing_lengths_mean_full_length(subject: Subject) -> None:
    """Compare ``lengths=None`` with the largest length for every item."""
    case = subject.case((2, 3), lengths=[subject.size])
    arguments = random_arguments(case)
    for operator in operators(case):
        short, full = subject.make(*case.scores), case.distribution()
        actual, expected = (operator.of(distribution, arguments) for distribution in (short, full))
        agree(case, f"{operator.name} without lengths", actual, expected)


@law("mode")
def expand_repeats_the_items(subject: Subject) -> None:
    """Check that `expand` adds leading dimensions and keeps every operator's value for each copy."""
    case = subject.case((2,))
    arguments, distribution = random_arguments(case), case.distribution()
    wide = distribution.expand(torch.Size((3, 2)))
    copies = arguments.at(torch.tensor([[0, 1]] * 3), rival(case).distribution().expand(torch.Size((3, 2))))
    shape, mode = wide.batch_shape, distribution.mode
    demand(shape == (3, 2), case, f"the batch shape of expand((3, 2)) is (3, 2), not {shape}")
    demand(type(wide) is type(distribution), case, "expand keeps the type")
    demand(torch.equal(wide.mode, mode.expand(3, *mode.shape)), case, "expand repeats the mode")
    for operator in operators(case):
        value = operator.of(distribution, arguments)
        right = torch.allclose(operator.of(wide, copies), value.expand(3, *value.shape), rtol=1e-10, atol=1e-10)
        demand(right, case, f"{operator.name} after expand is that of each copy")


@law("condition")
def conditions_compose_with_every_operator(subject: Subject) -> None:
    """Compare conditioned distributions with enumeration of the structures that meet the condition."""
    case = forbid_at_random(subject.case(), share=0.2)
    arguments = random_arguments(case)
    tables = [
        table.condition(arguments.required[index], arguments.forbidden[index])
        for index, table in zip(case.indices, case.tables, strict=True)
    ]
    conditioned = case.distribution().condition(arguments.required, arguments.forbidden)
    only_required = case.distribution().condition(required=arguments.required)
    only_forbidden = case.distribution().condition(forbidden=arguments.forbidden)
    for operator in OPERATORS:
        if operator.name in ("log_partition", "marginals", "entropy", "log_count", "max_score", "topk"):
            expected = case.stack([operator.of(table, arguments) for table in tables])
            agree(case, f"{operator.name} given both", operator.of(conditioned, arguments), expected)
    parts = conditioned.to_parts(conditioned.sample((20,))) > 0
    met = (parts | ~arguments.required).all() and not (parts & arguments.forbidden).any()
    demand(met, case, "samples meet the condition")
    twice = only_required.condition(forbidden=arguments.forbidden).log_partition
    agree(case, "conditions one after the other", twice, conditioned.log_partition)
    swapped = only_forbidden.condition(required=arguments.required).log_partition
    agree(case, "conditions in the other order", swapped, conditioned.log_partition)


@law("partial_log_prob", "log_prob")
def partial_observation_has_its_ends(subject: Subject) -> None:
    """Check that the log-probability is 0 if nothing is known, and the event's own if everything is known."""
    case = forbid_at_random(subject.case())
    distribution, event = case.distribution(), random_arguments(case).event
    nothing = distribution.partial_log_prob(event, torch.zeros_like(event, dtype=torch.bool))
    everything = distribution.partial_log_prob(event, torch.ones_like(event, dtype=torch.bool))
    agree(case, "partial_log_prob with nothing known is 0", nothing, torch.zeros_like(nothing))
    agree(case, "partial_log_prob with all known is log_prob", everything, distribution.log_prob(event))
