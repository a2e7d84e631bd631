"""Trainings in processes of their own, which may be killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import warnings
from pathlib import Path
from typing import Any

# The server has imported what a training needs, so that each child starts at once; it has no threads yet.
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    ["lightning.pytorch", "strukt.train.fit", "strukt.train.callbacks", "tests.children"]
)


def run(target: Any, *arguments: Any, timeout: float = 120) -> int:
    """Runs a function of a test module in a child; its exit code, -9 if it was killed."""
    child = CONTEXT.Process(target=target, args=arguments)
    child.start()
    child.join(timeout)
    if child.exitcode is None:
        child.kill()
        raise TimeoutError(f"the child did not end in {timeout} seconds")
    return child.exitcode


def train(task: str, config: Any, output: Path, resume: bool = False, **death: int) -> int:
    """Trains in a child.

    Args:
        task: The task.
        config: Its configuration.
        output: The folder of the model.
        resume: Go on with what is there.
        death: `at_step=k` kills it at the start of step k, `at_rename=k` at its k-th rename; with SIGKILL, or
            the signal `by`.
    """
    return run(_train, task, config, output, resume, death)


def _train(task: str, config: Any, output: Path, resume: bool, death: dict[str, int]) -> None:
    from strukt.train import fit

    warnings.simplefilter("error")
    _arrange(**death)
    fit.fit(task, config, output, resume=resume)


def _arrange(at_step: int = -1, at_rename: int = -1, by: int = signal.SIGKILL) -> None:
    from strukt.train import training

    seed_step, replace, renames = training.seed_step, os.replace, iter(range(1_000_000))

    def seed_or_die(seed: int, step: int, rank: int) -> None:
        if step == at_step:
            os.kill(os.getpid(), by)
        seed_step(seed, step, rank)

    def replace_or_die(*arguments: Any) -> None:
        if next(renames) == at_rename:
            os.kill(os.getpid(), by)
        replace(*arguments)

    training.seed_step = seed_or_die
    os.replace = replace_or_die

