"""Every structure keeps every law of `strukt.testing`."""

import pytest

from strukt.testing import laws
from strukt.testing.law import LAWS
from strukt.testing.subjects import STRUCTURES

NUMERICAL = "derivatives_pass_numerical_checks"

LONGEST = {
    NUMERICAL,
    "compiled_equals_eager",
    "operators_agree_with_enumeration_at_the_edge",
    "padding_is_never_read",
    "relaxed_samples_are_differentiable",
    "sparsemap_is_differentiable",
    "sparsemap_is_optimal",
    "support_knows_structures",
}

GENERAL = {subject.name.split(",")[0]: subject.name for subject in STRUCTURES}
"""The last subject of each structure, which has the most: others share scores or leave some out."""


def marks(subject, law):
    """Slow are the longest laws for other subjects, and finite differences through grammars of low rank."""
    through_grammars = subject.name.startswith("LowRankPCFG") and law.endswith(("differentiable", "checks"))
    is_slow = law in LONGEST and (subject.name not in GENERAL.values() or through_grammars)
    return pytest.mark.slow if is_slow else ()


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
