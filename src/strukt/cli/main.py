"""The launcher `strukt`, which imports only the requested command.

Each command is a module with a function `run(arguments)`. It is imported on call, so that help appears at once.
The arguments are those after the name of the command. The result is the exit code, 0 after success. `run` raises
`UsageError` if an argument is invalid, and another `StruktError` if the command fails.
"""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module

from strukt.cli import console
from strukt.cli.termination import Terminated, orderly
from strukt.errors import TERMINATED, StruktError, is_out_of_memory

COMMANDS = {
    "demo": "train a small parser on the Python standard library, and try it",
    "train": "train a model on a corpus",
    "evaluate": "evaluate a model on an annotated corpus",
    "predict": "annotate text with a model",
    "select": "select the sentences that a model is least certain about, for annotation",
    "make": "generate a random corpus for the tasks sort, count and listops",
    "data": "download an open corpus, and check it",
    "generate": "sample sentences from a language model",
    "convert": "convert the entity tags of a file, such as CoNLL-2003, to another scheme",
    "check": "list the errors of a corpus, and summarise its contents",
    "show": "draw the prediction of a model for a sentence",
    "serve": "serve models to a browser and to programs",
    "card": "write a model card",
    "push": "push a model to the Hugging Face Hub",
    "export": "export the networks of a model to ONNX",
    "reproduce": "train the models of published tables, and compare the numbers",
    "benchmark": "compare strukt with other libraries",
    "doctor": "report versions and backends, and check the kernels",
    "warm-up": "compile all CPU kernels in advance",
}
"""The commands with their descriptions; the module of a command is `strukt.cli.COMMAND`, with _ in place of -."""

FAILURE, INTERRUPTED = 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, and turn errors into one line and an exit code.

    Args:
        arguments: The arguments after `strukt`; by default, those of this process.

    Returns:
        0 after success, or if the reader of standard output closed the pipe; 1 if a check of kernels or results
        failed; 2 after an error, such as invalid input or arguments; 130 after Ctrl-C; 143 after SIGTERM.
    """
    warnings.showwarning = lambda message, *_: console.warning(str(message))
    _open_closed_streams()
    try:
        with orderly():
            code = dispatch(sys.argv[1:] if arguments is None else arguments)
            sys.stdout.flush()
    except StruktError as error:
        console.error(str(error))
        return FAILURE
    except KeyboardInterrupt:
        return INTERRUPTED
    except Terminated as end:
        console.message(end.message)
        return TERMINATED
    except BrokenPipeError:  # as in `strukt predict MODEL FILE | head`
        _write_no_more()
        return 0
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        console.error(": ".join(["out of memory", *str(error).splitlines()[:1]]))
        return FAILURE
    except OSError as error:
        if error.filename is not None:
            console.error(f"{os.fsdecode(error.filename)}: {error.strerror}")
            return FAILURE
        if error.errno is None:  # from a library, not from the operating system
            console.error(str(error))
            return FAILURE
        console.error(f"standard output cannot be written: {error.strerror}")
        _write_no_more()
        return FAILURE
    return code


def _open_closed_streams() -> None:
    """Open the null device for standard streams that the shell closed, as in `strukt predict MODEL FILE >&-`."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def _write_no_more() -> None:
    """Redirect standard output to the null device, so that Python does not write to it again on exit."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def dispatch(arguments: Sequence[str]) -> int:
    """Run the command that the first argument names, and return its exit code.

    Without arguments, print the help.

    Raises:
        UsageError: If there is no such command, or its arguments are invalid.
        StruktError: If the command fails.
    """
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(help_text())
        return 0
    if arguments[0] in ("-V", "--version"):
        print(version())
        return 0
    console.choose(arguments[0], COMMANDS, "command")
    command = import_module(f"strukt.cli.{arguments[0].replace('-', '_')}")
    return int(command.run(list(arguments[1:])))


def help_text() -> str:
    """Return the output of `strukt --help`."""
    commands = "\n".join(f"  {name:<11}{summary}" for name, summary in COMMANDS.items())
    return f"""\
usage: strukt COMMAND ...

Train, evaluate, apply and inspect structured models of text.

{commands}

Help for a command: strukt COMMAND --help. Start with: strukt demo"""


def version() -> str:
    """Return the output of `strukt --version`."""
    from importlib.metadata import version

    return f"strukt {version('strukt')}"
