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
    """Return the laws that apply to a structure: those that need no member that its distribution lacks.

    Args:
        subject: The structure under test; only `lacks` is read.

    Examples:
        >>> from strukt.testing import Subject
        >>> from strukt import LinearChain
        >>> from strukt.testing.brute_force import chain
        >>> def draw(generator, batch_shape, size):
        ...     unary = torch.randn(*batch_shape, size, 2, generator=generator, dtype=torch.float64)
        ...     return unary, torch.randn(2, 2, generator=generator, dtype=torch.float64)
        >>> scores = {"unary": 2, "transition": 2}
        >>> subject = Subject("LinearChain", LinearChain, chain, draw, scores)
        >>> [law.name for law in laws(subject) if "mbr" in law.needs]
        ['mbr_has_the_highest_expected_count']
        >>> lacking = Subject("LinearChain", LinearChain, chain, draw, scores, lacks=frozenset({"mbr"}))
        >>> [law.name for law in laws(lacking) if "mbr" in law.needs]
        []
    """
    return [law for law in LAWS.values() if not law.needs & subject.lacks]


def check_structure(subject: Subject, known_failures: Mapping[str, str] | None = None) -> None:
    """Check a structure against every law that applies to it.

    Args:
        subject: The structure, with its random scores and its enumeration.
        known_failures: The names of laws that are known to be broken, each with the reason; they are not checked.
            None to check all laws.

    Raises:
        AssertionError: If laws are broken; the message has a line for each, with its name and the fault.

    Examples:
        The enumeration reads the transitions in the wrong direction. All laws but one are left out, to save time:

        >>> from strukt.testing import Subject, laws
        >>> from strukt import LinearChain
        >>> from strukt.testing.brute_force import chain
        >>> def draw(generator, batch_shape, size):
        ...     unary = torch.randn(*batch_shape, size, 2, generator=generator, dtype=torch.float64)
        ...     return unary, torch.randn(2, 2, generator=generator, dtype=torch.float64)
        >>> def reversed_chain(length, unary, transition):
        ...     return chain(length, unary, transition.T)
        >>> wrong = Subject("LinearChain", LinearChain, reversed_chain, draw, {"unary": 2, "transition": 2})
        >>> others = {law.name: "slow" for law in laws(wrong) if law.name != "mode_is_the_best_structure"}
        >>> check_structure(wrong, known_failures=others)
        Traceback (most recent call last):
        AssertionError: mode_is_the_best_structure: ...
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
