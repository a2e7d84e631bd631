"""The conformance suite: checks of every property of a structure against enumeration.

    SUBJECT = Subject("MyStructure", make=MyStructure, enumerate=..., draw=..., arguments={"scores": 2})
    check_structure(SUBJECT)

With pytest, one test for each law gives better reports:

    @pytest.mark.parametrize("law", laws(SUBJECT), ids=lambda law: law.name)
    def test_law(law):
        law.check(SUBJECT)
"""

from __future__ import annotations

from collections.abc import Mapping

from strukt.testing.law import LAWS, Law
from strukt.testing.laws import (  # noqa: F401  (importing a file registers its laws)
    arguments,
    derivatives,
    events,
    infeasible,
    infinite,
    interface,
    padding,
    perturbation,
    sampling,
    sparse,
    transforms,
    values,
)
from strukt.testing.subject import Subject

__all__ = ["check_structure", "laws"]


def laws(subject: Subject) -> list[Law]:
    """Return the laws that need none of the members that the subject `lacks`."""
    return [law for law in LAWS.values() if not law.needs & subject.lacks]


def check_structure(subject: Subject, known_failures: Mapping[str, str] | None = None) -> None:
    """Check a structure against every law.

    Args:
        subject: The structure, with its random scores and its enumeration.
        known_failures: The names of laws that are known to be broken, each with the reason; they are not checked.
            None to check all laws.

    Raises:
        AssertionError: If laws are broken; the message has a line for each, with its name and the fault.
    """
    failures = []
    for law in laws(subject):
        if law.name in (known_failures or {}):
            continue
        try:
            law.check(subject)
        except AssertionError as error:
            failures.append(f"{law.name}: {error}")
        except Exception as error:  # an error in the structure's code: continue with the other laws
            failures.append(f"{law.name}: {type(error).__name__}: {error}")
    if failures:
        raise AssertionError("\n".join(failures))
