"""Every structure keeps every law of `strukt.testing`."""

import pytest

from strukt.testing import laws
from strukt.testing.law import LAWS
from strukt.testing.subjects import STRUCTURES

NUMERICAL = "derivatives_pass_numerical_checks"

LONGEST = {NUMERICAL, "sparsemap_is_differentiable", "relaxed_samples_are_differentiable"}

GENERAL = {subject.name.split(",")[0]: subject.name for subject in STRUCTURES}
"""The last subject of each structure, which has the most: others share scores or leave some out."""


def marks(subject, law):
    """Slow are finite differences for other subjects, and through grammars with many operators."""
    many = subject.name not in GENERAL.values() or subject.name.startswith("LowRankPCFG")
    return pytest.mark.slow if law in LONGEST and many else ()


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
