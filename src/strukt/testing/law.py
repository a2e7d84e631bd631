"""The register of laws: functions of a subject that raise AssertionError where the law is broken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from strukt.testing.subject import Subject


@dataclass(frozen=True)
class Law:
    """One property that every structure has.

    Attributes:
        name: What holds.
        needs: Members of the distribution without which the law says nothing.
        check: Raises AssertionError where it does not hold.
    """

    name: str
    needs: frozenset[str]
    check: Callable[[Subject], None]


LAWS: dict[str, Law] = {}


def law(*needs: str) -> Callable[[Callable[[Subject], None]], Callable[[Subject], None]]:
    """Enter a function into the register under its own name."""

    def enter(check: Callable[[Subject], None]) -> Callable[[Subject], None]:
        LAWS[check.__name__] = Law(check.__name__, frozenset(needs), check)
        return check

    return enter
