"""The register of laws: functions of a subject that raise AssertionError if the law is broken."""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Callable
from dataclasses import dataclass

from strukt.testing.subject import Subject


@dataclass(frozen=True)
class Law:
    """A property that every structure must have.

    Attributes:
        name: The name of the property.
        needs: The members of the distribution that the law needs; it is skipped for subjects that lack one.
        check: The function that raises AssertionError if the property does not hold.
    """

    name: str
    needs: frozenset[str]
    check: Callable[[Subject], None]


LAWS: dict[str, Law] = {}

PYTORCH_WARNINGS = (
    ".*should not be instantiated.*",  # the tracer of torch.compile instantiates every autograd function
    ".*torch.jit.script.* is deprecated",  # forward mode still compiles some operators in this way
)
"""Patterns of the deprecation warnings that PyTorch emits about its own code."""

DEPRECATED = (DeprecationWarning, FutureWarning)
"""The categories of these warnings: PyTorch 2.14 emits some of them as FutureWarning."""

IMPOSSIBLE = ".*a mean loss with it is infinite"
"""The pattern of the warning about training on impossible events, which some laws provoke on purpose."""


def law(*needs: str) -> Callable[[Callable[[Subject], None]], Callable[[Subject], None]]:
    """Return a decorator that registers a function as a law under its own name.

    The decorator returns the function with some warnings silenced: those of PyTorch about its own code, and the
    warning of strukt about training on impossible events.

    Args:
        needs: The members of the distribution that the law needs.
    """

    def enter(check: Callable[[Subject], None]) -> Callable[[Subject], None]:
        @functools.wraps(check)
        def quietly(subject: Subject) -> None:
            with warnings.catch_warnings():
                for message, category in itertools.product(PYTORCH_WARNINGS, DEPRECATED):
                    warnings.filterwarnings("ignore", message, category)
                warnings.filterwarnings("ignore", IMPOSSIBLE, UserWarning)
                check(subject)

        LAWS[check.__name__] = Law(check.__name__, frozenset(needs), quietly)
        return quietly

    return enter
