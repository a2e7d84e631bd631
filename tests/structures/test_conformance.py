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

OF_THREE = {"compiled_equals_eager", "relaxed_samples_are_differentiable"}
THREE = {"LinearChain", "NonProjectiveTree", "SpanTree"}
"""Laws of what is the same code for all structures, and those that are held to them without `--slow`."""

WHOLE = OF_EVERY_SUBJECT | LONG | {
    "derivatives_agree_with_enumeration",
    "distinct_samples_have_the_right_frequencies",
    "mbr_has_the_highest_expected_count",
    "mode_is_the_best_structure",
    "operators_agree_with_enumeration_at_the_edge",
    "operators_agree_with_enumeration_in_float32",
    "samples_have_the_right_frequencies",
    "support_knows_structures",
    "topk_are_the_best_structures",
}
"""Laws of what is computed.

Without `--slow`, each of the others, about transforms and arguments, is checked on every other structure.
"""

TOO_LONG = {
    "derivatives_agree_with_enumeration": {"LexicalisedTree", "MonotoneAlignment", "Transducer"},
    "distinct_samples_have_the_right_frequencies": {"LowRankPCFG"},
    NUMERICAL: {"KDPP"},
    "sparsemap_is_differentiable": {"LexicalisedTree", "SecondOrderTree", "SemiMarkov"},
    "sparsemap_is_optimal": {"KDPP"},
    "support_knows_structures": {"BitSpanTree", "LowRankPCFG", "PCFG"},
}
"""Structures that need seconds for a law of which another one, or another test, tells much the same.

Derivatives that are not compared with those of the enumeration are checked by finite differences, and values are
compared. Those of `KDPP` are compared here and checked by finite differences in tests/structures/k_dpp.
"""


def marks(subject, law):
    """Slow are most laws for further subjects, and long ones for grammars and other options."""
    kind = subject.name.split(",")[0]
    if subject.name in FURTHER:
        slow = law not in OF_EVERY_SUBJECT
    elif law in LONG and (subject.name not in LAST.values() or "PCFG" in kind):
        slow = True
    elif law in OF_THREE:
        slow = kind not in THREE
    elif law in WHOLE:
        slow = kind in TOO_LONG.get(law, ())
    else:
        slow = (list(LAWS).index(law) + list(LAST).index(kind)) % 2 == 1
    return pytest.mark.slow if slow else ()


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
            subject,
            law,
            id=f"{subject.name}-{law}",
            marks=pytest.mark.slow if law == NUMERICAL or subject.name in FURTHER else (),
        )
        for subject in STRUCTURES
        for law in (NUMERICAL, "functional_transforms_work")
    ],
)
def test_derivatives_of_the_reference(subject, law, monkeypatch):
    monkeypatch.setenv("STRUKT_BACKEND", "reference")
    LAWS[law].check(subject)
