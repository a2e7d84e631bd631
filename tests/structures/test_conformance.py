"""Every structure keeps every law of `strukt.testing`."""

import pytest
from tests.further import FURTHER

from strukt.testing import laws
from strukt.testing.law import LAWS
from strukt.testing.subjects import STRUCTURES

SLOW = pytest.mark.slow

NUMERICAL, COMPARED = "derivatives_pass_numerical_checks", "derivatives_agree_with_enumeration"

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

OF_A_FEW = {"functional_transforms_work", "padding_is_never_read"}
OTHERWISE = {"BinaryCRF, pairs per item", "LinearChain, shared transition", "SemiMarkov, transition per position"}
"""Laws for those further subjects whose scores have another batch axis or padding than the last of their kind."""

LAST = {subject.name.split(",")[0]: subject.name for subject in STRUCTURES}

LONG = {
    NUMERICAL,
    "compiled_equals_eager",
    "relaxed_samples_are_differentiable",
    "sparsemap_is_differentiable",
    "sparsemap_is_optimal",
}
"""Laws by finite differences, hundreds of best structures, or graphs that PyTorch compiles."""

OF_THREE = {
    "compiled_equals_eager",
    "relaxed_samples_are_differentiable",
    "sparsemap_is_differentiable",
    "sparsemap_is_optimal",
}
THREE = {"LinearChain", "NonProjectiveTree", "SpanTree"}
"""Laws of what is the same code for all structures, and those that are held to them without `--slow`."""

WHOLE = OF_EVERY_SUBJECT | LONG | {
    "distinct_samples_have_the_right_frequencies",
    "mbr_has_the_highest_expected_count",
    "memory_layout_of_scores_does_not_matter",
    "mode_is_the_best_structure",
    "operators_agree_with_enumeration_at_the_edge",
    "operators_agree_with_enumeration_in_float32",
    "samples_have_the_right_frequencies",
    "support_knows_structures",
    "topk_are_the_best_structures",
}
"""Laws of what is computed.

Without `--slow`, each of the others, about transforms and arguments, is checked on every third structure.
"""

OF_KERNELS = {
    "forbidden_parts_have_zero_derivatives",
    "hessian_of_log_partition_is_the_covariance",
    "infeasible_item_has_zero_derivatives",
    "infinite_divergence_has_zero_derivatives",
    "infinite_log_prob_has_zero_derivatives",
}
"""Laws of what the kernels of a structure may get wrong on their own: checked on every other structure."""

TOO_LONG = {
    "distinct_samples_have_the_right_frequencies": {"LowRankPCFG"},
    NUMERICAL: {"BinaryCRF", "CheckpointedChain", "KDPP", "Matching", "MonotoneAlignment"},
    "sparsemap_is_differentiable": {"LexicalisedTree", "SecondOrderTree", "SemiMarkov"},
    "sparsemap_is_optimal": {"KDPP"},
    "support_knows_structures": {"BitSpanTree", "LowRankPCFG", "PCFG"},
}
"""Structures that need seconds for a law of which another one, or another test, tells much the same.

The derivatives of `KDPP` are compared here and checked by finite differences in tests/structures/k_dpp.
"""


def is_slow(subject, law):
    """Tell whether a law waits for `--slow`: most laws for further subjects, long ones for other options.

    Without it, derivatives are checked once: by finite differences of values that equal the enumeration's, or
    where these take long against the derivatives of the enumeration.
    """
    kind = subject.name.split(",")[0]
    if law == COMPARED and subject.name not in FURTHER:
        return not is_slow(subject, NUMERICAL)
    if subject.name in FURTHER:
        return law not in OF_EVERY_SUBJECT or (law in OF_A_FEW and subject.name not in OTHERWISE)
    if law in LONG and (subject.name not in LAST.values() or "PCFG" in kind):
        return True
    if law in OF_THREE:
        return kind not in THREE
    if law in WHOLE:
        return kind in TOO_LONG.get(law, ())
    return (list(LAWS).index(law) + list(LAST).index(kind)) % (2 if law in OF_KERNELS else 3) > 0


@pytest.mark.parametrize(
    ("subject", "law"),
    [
        pytest.param(
            subject,
            law,
            id=f"{law.name}-{subject.name}",
            marks=SLOW if is_slow(subject, law.name) else (),
        )
        for subject in STRUCTURES
        for law in laws(subject)
    ],
)
def test_law(subject, law):
    law.check(subject)


@pytest.mark.parametrize(
    ("subject", "law"),
    [
        # The kernels are compared with the reference, and their own derivatives are checked above; that the
        # reference is transformed, too, every other structure shows.
        pytest.param(
            subject,
            law,
            id=f"{subject.name}-{law}",
            marks=SLOW if law == NUMERICAL or i % 4 or subject.name in FURTHER else (),
        )
        for i, subject in enumerate(STRUCTURES)
        for law in (NUMERICAL, "functional_transforms_work")
    ],
)
def test_derivatives_of_the_reference(subject, law, monkeypatch):
    monkeypatch.setenv("STRUKT_BACKEND", "reference")
    LAWS[law].check(subject)
