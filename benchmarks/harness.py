"""The comparison of libraries: one process each, the same inputs, in turn, in several rounds."""

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
    """Start a process with one library; yield a function that sends it requests and returns the answers."""
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
    """Return a function for the error of an answer, by strukt's results in float64.

    A mode is judged by its score.
    """
    exactly = tuple(score.double() for score in case.inputs())
    return _judging(family, case, family.operations["gradient"](family.contestants[0], exactly))


def exact_truth(family: Family, case: Case) -> Errors:
    """Return a function for the error of an answer, by the truth in arbitrary precision; modes by float64."""
    assert family.exact is not None
    return _judging(family, case, family.exact(*case.inputs()))


def _judging(family: Family, case: Case, reference: tuple[Tensor, ...]) -> Errors:
    """Return a function for errors, given the true log-partition and its gradient."""
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
    """Return a function from a training step to the mean log-partition, and the gradient of the sum.

    These are judged as strictly as the operation "gradient". The loss is the log-partition minus the score of the
    gold structures, which is known; without gold structures, it is the negative log-partition.
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
    """Return the measurement of a library's first answer: its error, or the reason why there is none."""
    if not isinstance(reply, Trial):
        return Measurement(contestant.name, operation, failure=getattr(reply, "message", "no answer"))
    error = math.nan if contestant.yardstick else errors(operation, as_tensors(reply.answer))
    return Measurement(
        contestant.name, operation, error=error, extra=reply.extra, yardstick=bool(contestant.yardstick)
    )


def compare(family: Family, case: Case, errors: Errors, rounds: int, threads: int) -> list[Measurement]:
    """Check, then time every library on one case.

    Args:
        family: The structure or mapping.
        case: The inputs.
        errors: The error of answers; see `truth` and `exact_truth`.
        rounds: The number of turns of each library at each operation; with 0, answers are only checked.
        threads: The number of threads of each process.

    Returns:
        A measurement for each library and operation; wrong and failed ones have no times.

    Raises:
        WrongResultError: If strukt's result is wrong.
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
    """Time the libraries in the order A B C A B C ..., so that changes of the machine's load affect all."""
    for _ in range(rounds):
        for measurement in measurements:
            reply = players[measurement.contestant]("time", measurement.operation)
            if isinstance(reply, list):
                measurement.seconds += reply
            else:
                measurement.failure = getattr(reply, "message", "no times")
