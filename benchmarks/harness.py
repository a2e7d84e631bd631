"""Runs the libraries side by side: one process each, the same inputs, in turn, several rounds."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

from torch import Tensor

from benchmarks.contest import OPERATIONS, Case, Contestant, Family, gradient, mode
from benchmarks.measure import Measurement, as_tensors, distance, require_right
from benchmarks.worker import Failure, Trial, serve

Errors = Callable[[str, tuple[Tensor, ...]], float]
Ask = Callable[[str, str], "Trial | list[float] | Failure"]


@contextmanager
def player(contestant: Contestant, family: Family, case: Case, threads: int) -> Iterator[Ask]:
    """A process with one library in it, as a function from requests to answers."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    arguments = (theirs, contestant, family.warm_up, case, threads)
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
    """How far an answer is from strukt's reference in float64; the best score judges a mode."""
    inputs = case.inputs()
    exactly = tuple(score.double() for score in inputs)
    reference = gradient(family.contestants[0], exactly)
    best = family.score(*exactly, *mode(family.contestants[0], exactly))

    def errors(operation: str, answer: tuple[Tensor, ...]) -> float:
        if operation == "mode":
            return distance([family.score(*inputs, *answer)], [best])
        return distance(answer, reference[: len(answer)])

    return errors


def exact_truth(family: Family, case: Case) -> Errors:
    """How far an answer is from arbitrary precision; a mode is judged by float64."""
    assert family.exact is not None
    exact, in_float64 = family.exact(*case.inputs()), truth(family, case)

    def errors(operation: str, answer: tuple[Tensor, ...]) -> float:
        if operation == "mode":
            return in_float64(operation, answer)
        return distance(answer, exact[: len(answer)])

    return errors


def judge(contestant: str, operation: str, reply: object, errors: Errors) -> Measurement:
    """The first answer of a library, compared with the truth."""
    if not isinstance(reply, Trial):
        return Measurement(contestant, operation, failure=getattr(reply, "message", "no answer"))
    error = errors(operation, as_tensors(reply.answer))
    return Measurement(contestant, operation, error=error, extra=reply.extra)


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
            judge(name, operation, ask("try", operation), errors)
            for name, ask in players.items()
            for operation in OPERATIONS
        ]
        require_right(measurements, family.contestants[0].name, f"{family.name} {case.name}")
        for operation in OPERATIONS:
            take_turns([m for m in measurements if m.operation == operation and m.right], players, rounds)
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
