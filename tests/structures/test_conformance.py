"""Every structure keeps every law of `strukt.testing`."""

import pytest
from tests.further import FURTHER

from strukt.testing import laws
from strukt.testing.law import LAWS
from strukt.testing.subjects import STRUCTURES

NUMERICAL = "derivatives_pass_numerical_checks"

OF_EVERY_SUBJECT = {
    "batch_equals_its_items",
    "expand_repeats_the_items",
    "functional_transforms_work",
    "gradient_of_log_partition_is_the_marginals",
    "infeasible_item_has_weight_zero",
    "operators_agree_with_enumeration",
    "padding_is_never_read",
    "wrong_scores_are_refused",
}
"""What further subjects are held to without `--slow`."""

LAST = {subject.name.split(",")[0]: subject.name for subject in STRUCTURES}

LONG = {
    NUMERICAL,
    "compiled_equals_eager",
    "relaxed_samples_are_differentiable",
    "sparsemap_is_differentiable",
    "sparsemap_is_optimal",
}
"""Laws by finite differences, hundreds of best structures, or graphs that PyTorch compiles."""


def marks(subject, law):
    """Slow are most laws for further subjects, and long ones for grammars and other options."""
    if subject.name in FURTHER:
        return () if law in OF_EVERY_SUBJECT else pytest.mark.slow
    long = subject.name not in LAST.values() or "PCFG" in subject.name
    return pytest.mark.slow if long and law in LONG else ()


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
