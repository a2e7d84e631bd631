"""strukt's own exceptions.

Other wrong arguments raise ValueError or TypeError; members that a structure lacks raise NotImplementedError.
"""

from __future__ import annotations

import os
import signal

TERMINATED = 128 + signal.SIGTERM
"""The exit code of a process that SIGTERM ended, as a shell reports it."""


class StruktError(Exception):
    """The base class of strukt's own exceptions."""


class InfeasibleError(StruktError, ValueError):
    """Every structure of some batch items is forbidden, so these items have no mode and no sample.

    Constrained decoding raises it if no text can meet the constraint, and hidden Markov models if observations are
    impossible.

    Examples:
        >>> import torch
        >>> from strukt import LinearChain
        >>> LinearChain(torch.full((2, 3), -torch.inf), torch.zeros(3, 3)).mode
        Traceback (most recent call last):
        strukt.errors.InfeasibleError: ...
    """


class OutOfRangeError(StruktError, ValueError):
    """A number is NaN, infinite or too large to compute with, or outside the range that a picture can show.

    As a score, -inf is no error: it forbids a part.

    Examples:
        >>> import torch
        >>> from strukt import LinearChain
        >>> LinearChain(torch.full((2, 3), torch.nan), torch.zeros(3, 3))
        Traceback (most recent call last):
        strukt.errors.OutOfRangeError: unary holds nan at batch item 0, position (0, 0); expected numbers up to ...
    """


class SettingError(StruktError, ValueError):
    """An option, an argument or an environment variable is invalid, or the model does not support it."""


class DataError(StruktError):
    """A file is malformed or unsuitable for the task.

    Args:
        message: The problem and its remedy, in one line.
        path: The file; None if there is none.
        line: The line in it, counted from 1; None for the whole file.

    The arguments are attributes of the error.

    Examples:
        >>> print(DataError("expected 10 columns, found 9", path="train.conllu", line=12))
        train.conllu:12: expected 10 columns, found 9
    """

    def __init__(
        self, message: str, path: str | os.PathLike[str] | None = None, line: int | None = None
    ) -> None:
        super().__init__(message, path, line)
        self.message = message
        self.path = None if path is None else os.fspath(path)
        self.line = line

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.path, self.line) if part is not None)
        return f"{place}: {self.message}" if place else self.message


class MissingExtraError(StruktError, ImportError):
    """A package of one of strukt's optional extras is not installed.

    Args:
        package: The package that could not be imported.
        extra: The extra that installs it.

    Examples:
        >>> print(MissingExtraError("lightning", "train"))
        'lightning' is not installed; get it with: pip install "strukt[train]"
    """

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"'{package}' is not installed; get it with: pip install \"strukt[{extra}]\"")


def is_out_of_memory(error: MemoryError | RuntimeError) -> bool:
    """Return True if memory ran out; errors of PyTorch are recognised by their names and messages."""
    named = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    return named or "can't allocate memory" in str(error)
