"""Runs the libraries side by side: one process each, the same inputs, in turn, several rounds."""

from __future__ import annotations

import math
import multiprocessing
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

import torch
from torch import Tensor

from benchmarks.contest import Case, Contestant, Family
from benchmarks.measure import Measurement, as_tensors, distance, require_right
from benchmarks.worker import Failure, Trial, serve

Errors = Callable[[str, tuple[Tensor, ...]], float]
Ask = Callable[[str, str], "Trial | list[float] | Failure"]


@contextmanager
def player(contestant: Contestant, family: Family, case: Case, threads: int) -> Iterator[Ask]:
    """A process with one library in it, as a function from requests to answers."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    arguments = (theirs, contestant, family, case, threads)
    process = context.Process(target=serve, args=arguments, daemon=True)
    process.start()
    theirs.close()

    def ask(request: str, operation: str) -> Trial | list[float] | Failure:
        try:
            ours.send((request, operation))
            return ours.recv()
        except (EOFError, BrokenPipeError):
            return Failure("process ended (out of memory?)")

    try:
        yield ask
    finally:
        ours.close()
        process.join()


def truth(family: Family, case: Case) -> Errors:
    """How far an answer is from strukt's reference in float64; scores judge a mode and a training step."""
    exactly = tuple(score.double() for score in case.inputs())
    return _judging(family, case, family.operations["gradient"](family.contestants[0], exactly))


def exact_truth(family: Family, case: Case) -> Errors:
    """How far an answer is from arbitrary precision; a mode is judged by float64."""
    assert family.exact is not None
    return _judging(family, case, family.exact(*case.inputs()))


def _judging(family: Family, case: Case, reference: tuple[Tensor, ...]) -> Errors:
    """How far answers are from a log-partition with its gradient, and from what follows from it and scores."""
    inputs, score = case.inputs(), family.score
    exactly = tuple(scores.double() for scores in inputs)
    best = score(*exactly, *family.operations["mode"](family.contestants[0], exactly)) if score else None
    sums = _sums(family, exactly) if "training step" in family.operations else None
    mean = (reference[0].mean(), *reference[1:])

    def errors(operation: str, answer: tuple[Tensor, ...]) -> float:
        if operation == "mode" and score and best is not None:
            return distance([score(*inputs, *answer)], [best])
        if operation == "training step" and sums:
            return distance(sums(*answer), mean)
        return distance(answer, reference[: len(answer)])

    return errors


def _sums(family: Family, inputs: tuple[Tensor, ...]) -> Callable[..., tuple[Tensor, ...]]:
    """From a training step to the mean log-partition and the gradient of the summed one, as strict as a gradient.

    The loss is the log-partition less the score, which is known; or the negative log-partition.
    """
    if family.gold is None:
        return lambda loss, *slopes: (-loss, *(-len(inputs[0]) * slope for slope in slopes))
    assert family.score is not None
    leaves = [scores.detach().requires_grad_() for scores in inputs]
    scored = family.score(*leaves, family.gold(*inputs))
    parts = torch.autograd.grad(scored.sum(), leaves)

    def sums(loss: Tensor, *slopes: Tensor) -> tuple[Tensor, ...]:
        back = zip(slopes, parts, strict=True)
        return (loss + scored.detach().mean(), *(len(scored) * slope + used for slope, used in back))

    return sums


def judge(contestant: Contestant, operation: str, reply: object, errors: Errors) -> Measurement:
    """The first answer of a library, compared with the truth."""
    if not isinstance(reply, Trial):
        return Measurement(contestant.name, operation, failure=getattr(reply, "message", "no answer"))
    error = math.nan if contestant.yardstick else errors(operation, as_tensors(reply.answer))
    return Measurement(
        contestant.name, operation, error=error, extra=reply.extra, yardstick=bool(contestant.yardstick)
    )


def compare(family: Family, case: Case, errors: Errors, rounds: int, threads: int) -> list[Measurement]:
    """Checks, then times every library on one case.

    Args:
        family: The structure.
        case: The inputs.
        errors: The truth, see `truth` and `exact_truth`.
        rounds: How often each library has its turn at each operation; 0 checks and does not time.
        threads: Threads of each process.

    Returns:
        A measurement per library and operation; those that are wrong or failed have no times.

    Raises:
        WrongResultError: strukt's own result is wrong.
    """
    with ExitStack() as stack:
        players = {
            contestant.name: stack.enter_context(player(contestant, family, case, threads))
            for contestant in family.contestants
        }
        measurements = [
            judge(contestant, operation, players[contestant.name]("try", operation), errors)
            for contestant in family.contestants
            for operation in family.operations
        ]
        require_right(measurements, family.contestants[0].name, f"{family.name} {case.name}")
        for operation in family.operations:
            timed = [m for m in measurements if m.operation == operation and (m.right or m.yardstick)]
            take_turns(timed, players, rounds)
    return measurements


def take_turns(measurements: list[Measurement], players: Mapping[str, Ask], rounds: int) -> None:
    """Times A B C A B C ..., so that a change of the machine's load meets all of them."""
    for _ in range(rounds):
        for measurement in measurements:
            reply = players[measurement.contestant]("time", measurement.operation)
            if isinstance(reply, list):
                measurement.seconds += reply
            else:
                measurement.failure = getattr(reply, "message", "no times")
