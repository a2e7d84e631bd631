"""`strukt train`: train a model; the options are the configuration of the task."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from strukt.cli import console, corpora
from strukt.cli.table import percentages
from strukt.cli.termination import Terminated
from strukt.errors import MissingExtraError
from strukt.tasks import TASKS

CORPORA = ("train", "dev", "unlabelled")
"""The options that name corpora, of all tasks."""


def run(arguments: list[str]) -> int:
    """Train and save a model, and print its scores on the development corpus."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(help_text())
        return 0
    task = console.choose(arguments[0], TASKS, "task")
    order = _configuration().parse(task, arguments[1:])
    corpora.require_one_standard_input([getattr(order.config, name, "") for name in CORPORA])

    from strukt.train.fit import fit
    from strukt.train.records import scores
    from strukt.train.run_folder import RunFolder

    try:
        with interruptible():
            results = fit(task, order.config, order.output, resume=order.resume, initial_model=order.initial_model)
    except Terminated as end:
        if RunFolder(Path(order.output)).checkpoints.exists():
            raise Terminated(f"{end.message}; to continue, give the same command with --resume") from None
        raise
    if results:  # empty in all processes but the first
        print(percentages(scores(results["dev"])))
        place = shlex.quote(str(order.output))
        console.message(f"saved in {order.output}; evaluate it with: strukt evaluate {place} FILE")
    return 0


def help_text() -> str:
    """Return the output of `strukt train --help`."""
    rows = [(f"  {name}", task.config_class().summary) for name, task in TASKS.items()]
    width = max(len(name) for name, _ in rows) + 2
    tasks = "\n".join(f"{name:<{width}}{summary}" for name, summary in rows)
    return f"""\
usage: strukt train TASK --train FILE --dev FILE [-o FOLDER] [--config FILE]
                         [--initial_model MODEL] [--resume] [--OPTION VALUE ...]

{tasks}

Options of a task: strukt train TASK --help"""


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt after Ctrl-C, instead of the SystemExit that Lightning raises."""
    try:
        yield
    except SystemExit as leaving:
        if isinstance(leaving.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from leaving
        raise


def _configuration() -> Any:
    try:
        from strukt.cli import configuration
    except ImportError as error:
        raise MissingExtraError(str(error.name), "train") from error
    return configuration
