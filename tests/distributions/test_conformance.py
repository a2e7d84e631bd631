"""Every structure keeps every law of `strukt.testing`."""

import pytest

from strukt.testing import laws
from strukt.testing.law import LAWS
from strukt.testing.subjects import STRUCTURES

NUMERICAL = "derivatives_pass_numerical_checks"


def marks(subject, law):
    """Slow are finite differences where there are many operators of many arguments, each through all rules."""
    return pytest.mark.slow if law == NUMERICAL and subject.name.startswith("LowRankPCFG") else ()


@pytest.mark.parametrize(
    ("subject", "law"),
    [
        pytest.param(subject, law, id=f"{law.name}-{subject.name}", marks=marks(subject, law.name))
        for subject in STRUCTURES
        for law in laws(subject)
    ],
)
def test_law(subject, law):
    law.check(subject)


@pytest.mark.parametrize(
    ("subject", "law"),
    [
        # The kernels are compared with the reference, and their own derivatives are checked above.
        pytest.param(
            subject, law, id=f"{subject.name}-{law}", marks=pytest.mark.slow if law == NUMERICAL else ()
        )
        for subject in STRUCTURES
        for law in (NUMERICAL, "functional_transforms_work")
    ],
)
def test_derivatives_of_the_reference(subject, law, monkeypatch):
    monkeypatch.setenv("STRUKT_BACKEND", "reference")
    LAWS[law].check(subject)
