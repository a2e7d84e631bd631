"""The command `strukt`: finds the command that is meant, and imports nothing else.

Each command is a module with `run(arguments)`, imported when it is asked for, so that help answers at once.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module

from strukt.cli import console
from strukt.errors import StruktError

COMMANDS = {
    "demo": "train a small parser on text that every Python carries, and show it",
    "train": "train a model on a corpus",
    "evaluate": "measure a model on an annotated corpus",
    "predict": "annotate text with a model",
    "select": "find the sentences of a corpus on which a model is most undecided, to annotate them",
    "make": "make a corpus of random numbers to sort or to count in",
    "data": "fetch an open corpus, and check it",
    "generate": "write sentences that a language model makes up",
    "convert": "rewrite columns of entities, such as those of CoNLL-2003, in another scheme of tags",
    "check": "say what is wrong with a corpus, and what is in it",
    "show": "draw what a model makes of a sentence",
    "serve": "try models in a browser, and give programs their predictions",
    "card": "say what others need to know before they use a model",
    "push": "put a model on the hub of Hugging Face",
    "export": "write a model whose networks are graphs of ONNX",
    "benchmark": "measure strukt and its peers side by side",
    "doctor": "say what is installed, and check the kernels",
    "warm-up": "compile every kernel ahead, so that nobody waits for it later",
}
"""Every command and what it does; its module is `strukt.cli.<command>`, with _ for -."""

FAILURE, INTERRUPTED = 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and turns what goes wrong into one line and an exit code.

    Args:
        arguments: What follows `strukt` on the command line; those of this process if None.

    Returns:
        0 when all went well or the reader of a pipe went away, 1 when a kernel failed its check, 2 when the
        input or the arguments are at fault, 130 after Ctrl-C.
    """
    warnings.showwarning = lambda message, *_: console.warning(str(message))
    _open_closed_streams()
    try:
        code = dispatch(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
    except StruktError as error:
        console.error(str(error))
        return FAILURE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # as in `strukt predict MODEL FILE | head`: nobody reads on
        _write_no_more()
        return 0
    except MemoryError as error:
        console.error(f"the memory does not suffice: {error}" if str(error) else "the memory does not suffice")
        return FAILURE
    except OSError as error:
        if error.filename is not None:
            console.error(f"{os.fsdecode(error.filename)}: {error.strerror}")
            return FAILURE
        console.error(f"standard output cannot be written: {error.strerror}")
        _write_no_more()
        return FAILURE
    return code


def _open_closed_streams() -> None:
    """Python has None for a standard stream that the shell closed, as in `strukt predict MODEL FILE >&-`."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def _write_no_more() -> None:
    """So that Python, too, does not try again when it leaves."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def dispatch(arguments: Sequence[str]) -> int:
    """Hands the arguments to the command that they begin with.

    Raises:
        UsageError: There is no such command.
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
    """What `strukt --help` prints."""
    commands = "\n".join(f"  {name:<11}{summary}" for name, summary in COMMANDS.items())
    return f"""\
usage: strukt COMMAND ...

Structured models of text: train them, measure them, apply them, look at them.

{commands}

Each has its own help: strukt COMMAND --help. Start with: strukt demo"""


def version() -> str:
    """What `strukt --version` prints."""
    from importlib.metadata import version

    return f"strukt {version('strukt')}"
