"""The suite notices every seeded bug: a fast selection of it turns red when one line of the package is wrong."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.mutations.mutation import (
    BINARY,
    CHAIN,
    CODES,
    FRAMES,
    FREE,
    GRAMMAR,
    GRAPHS,
    GRID,
    HEADS,
    LOW_RANK,
    MATCHING,
    PLANAR,
    SEGMENTS,
    SIBLINGS,
    SPANNING,
    SPANS,
    SPARSE,
    SUBSETS,
    TABLE,
    VECTORS,
    Mutation,
)
from tests.mutations.optima import OPTIMA
from tests.mutations.sequences import SEQUENCES
from tests.mutations.sets import SETS
from tests.mutations.trees import TREES

import strukt

MUTATIONS = [*SEQUENCES, *TREES, *SETS, *OPTIMA]
REPOSITORY = Path(__file__).parents[2]
INSTALLED = Path(strukt.__file__).parent
LAWS = (
    "operators_agree_with_enumeration",
    "at_the_edge",
    "mode_is_the_best_structure",
    "topk_are_the_best_structures",
    "derivatives_agree_with_enumeration",
    "samples_have_the_right_frequencies",
    "support_knows_structures",
    "padding_is_never_read",
    "infeasible_item",
    "strongly_coupled_words",
    "expand_repeats_the_items",
    "sparsemap_is_optimal",
    "a_condition_is_bayes_rule",
    "that_nothing_reaches_send_nothing_back",
    "normalisers_are_multiplied_only",
    "one_number_scores_all_pairs",
    "gradient_of_max_marginals",
)
FILES = (
    "structures/test_conformance",
    "structures/test_dependency",
    "structures/span_tree/test_distribution",
    "structures/second_order_tree/test_distribution",
    "structures/lexicalised_tree/test_distribution",
    "structures/table_structure/test_distribution",
    "structures/linear_chain/test_edges",
    "structures/semi_markov/test_distribution",
    "kernels/engine/test_visits",
    "kernels/test_backends",
    "structures/semi_markov/test_backends",
    "structures/binary_crf/test_distribution",
    "structures/matching/test_distribution",
    "structures/spanning_tree/test_distribution",
    "structures/spanning_tree/test_backends",
    "structures/monotone_alignment/test_distribution",
    "structures/ctc/test_distribution",
    "kernels/test_backends",
    "kernels/test_extended",
    "structures/test_kbest_sequences",
    "structures/test_kbest_trees",
    "structures/test_max_marginals",
    "kernels/test_derivatives",
    "structures/events/test_events",
    "structures/non_projective_tree/test_arborescence",
    "structures/non_projective_tree/test_max_marginals",
    "structures/non_projective_tree/test_surprise",
    "kernels/test_candidates",
    "kernels/test_draw",
    "structures/pcfg/test_backends",
    "structures/low_rank_pcfg/test_backends",
    "structures/k_subset/test_backends",
    "structures/pcfg/test_distribution",
    "mappings/test_simplex",
    "mappings/test_fused",
    "mappings/test_subsets",
    "losses/test_vectors",
    "inference/test_sparsemap",
    "kernels/test_consensus",
    "inference/test_lp_sparsemap",
    "factor_graph/test_belief_propagation",
    "factor_graph/test_enumeration",
    "factor_graph/test_mean_field",
    "factor_graph/test_oracles",
    "factor_graph/test_permitted",
)
MODULES = {
    CHAIN: "(linear_chain and test_edges)",
    PLANAR: "test_dependency",
    FREE: "test_dependency",
    SPANS: "(span_tree and test_distribution)",
    CODES: "(bit_span_tree and test_distribution)",
    SIBLINGS: "(second_order_tree and test_distribution)",
    HEADS: "(lexicalised_tree and test_distribution)",
    TABLE: "(table_structure and test_distribution)",
    SEGMENTS: "(semi_markov and test_distribution)",
    BINARY: "(binary_crf and test_distribution)",
    MATCHING: "(matching and test_distribution)",
    SPANNING: "(spanning_tree and test_distribution)",
    GRID: "(monotone_alignment and test_distribution)",
    FRAMES: "(ctc and test_distribution)",
    GRAMMAR: "(pcfg and test_distribution)",
    LOW_RANK: "(low_rank_pcfg and test_distribution)",
    SUBSETS: "(k_subset and test_distribution)",
    VECTORS: "mappings",
    SPARSE: "inference/test_sparsemap",
    GRAPHS: "factor_graph",
}
BACKENDS = {
    CHAIN: "(test_events and test_tags) or "
    "(of_any_number_of_labels and 33-unchanged) or (of_any_batch and 9-1-unchanged) or test_candidates or "
    "(test_draw and (impossible or share or log_space)) or (more_than_there_are and chain)",
    PLANAR: "test_visits or (test_events and test_dependency_trees) or "
    "(test_trees_of_any_length and 9-unchanged) or (k_best_of_any_size and root and 5-unchanged) or "
    "(test_ties_and_forbidden_parts and ProjectiveTree and 1)",
    FREE: "(test_events and test_dependency_trees) or "
    "(test_trees_of_any_length and 9-unchanged) or (test_arborescence and k_best and (3 or 4)) or "
    "(non_projective_tree and test_max_marginals and enumeration and 3) or "
    "(test_surprise and right and (2 or 4-1.0-unchanged))",
    SPANS: "test_visits or (span_trees_of_any_length and 9-unchanged) or "
    "(k_best_of_any_size and spans and 5-unchanged) or (test_derivatives and labels and (9-unchanged or 3-steep))",
    CODES: "test_visits or (trees_with_codes_of_any_length and 9-unchanged) or "
    "(test_derivatives and codes and 3-unchanged)",
    SIBLINGS: "test_visits and siblings",
    HEADS: "test_visits and heads",
    TABLE: "table_structure",
    GRAMMAR: "pcfg and not low_rank_pcfg and test_backends and "
    "(5-unchanged or 5-steep or only_items_that_need_it or keep_their_digits)",
    LOW_RANK: "low_rank_pcfg and test_backends and (6-unchanged or of_any_size or underflow or same_distribution)",
    SUBSETS: "(k_best_of_any_size and subsets and unchanged) or "
    "(k_subset and test_backends and (3-unchanged or keep_their_digits or beyond_double))",
    SEGMENTS: "(test_events and test_segmentations) or "
    "semi_markov and test_backends and "
    "(33-unchanged or in_groups or lost or left_out or unlikely or passed_over or one_segment) or "
    "(more_than_there_are and segments)",
    SPANNING: "(test_events and test_spanning_trees) or (test_spanning_trees_of_any_size and 9-unchanged) or "
    "(spanning_tree and (test_entropies_and_derivatives or test_edges_that_only))",
    GRID: "(test_events and test_paths) or "
    "((monotone_alignment and test_distribution) or test_extended) and not float32 or "
    "(more_than_there_are and grid)",
    VECTORS: "((test_simplex or test_fused or test_subsets) and (optimal or derivatives)) or "
    "(test_vectors and (gradient_is or all_derivatives or conjugate))",
    SPARSE: "test_sparsemap and (kernels_equal or gradient_in or same_point or warm_start or all_scores_tie)",
    GRAPHS: "test_consensus or "
    "(test_lp_sparsemap and (equal or test_oracles or own_scores or nearly or now)) or "
    "(factor_graph and (layout or test_logic or test_enumeration or ((exact_without or bounds) and 1.0)))",
    FRAMES: "(test_events and test_frames) or "
    "((ctc and test_distribution) or test_extended) and not float32 or (more_than_there_are and frames)",
}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package, which processes import when its folder leads their path."""
    copy = tmp_path / "strukt"
    shutil.copytree(INSTALLED, copy)  # with its bytecode: what is not changed is not compiled again
    return copy


def mutated(package: Path, mutation: Mutation) -> str:
    """The text of the file with the bug in it."""
    text = (package / mutation.file).read_text(encoding="utf-8")
    found = text.count(mutation.right)
    assert found == mutation.count, (
        f"{found} times in the file, not {mutation.count}: bring the list up to date"
    )
    return text.replace(mutation.right, mutation.wrong)


def run_selection(package: Path, structure: str, backend: str) -> "subprocess.CompletedProcess[str]":
    """The selection on the copied package, its kernels run as plain Python."""
    chosen = f"({' or '.join(LAWS)}) and ({structure} or {MODULES[structure]})" + (
        f" or ({BACKENDS[structure]})" if backend == "cpu" else ""
    )
    command = [sys.executable, "-m", "pytest", "--slow", "-x", "-q", "-p", "no:cacheprovider", "-W", "ignore"]
    command += ["-p", "tests.interpreted_kernels", "-k", chosen]
    command += [f"tests/{file}.py" for file in FILES]
    path = os.pathsep.join([str(package.parent), str(REPOSITORY)])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": ""}
    if backend == "reference":
        environment["STRUKT_BACKEND"] = "reference"
    return subprocess.run(
        command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=600
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("structure", "backend"), sorted({(mutation.structure, mutation.backend) for mutation in MUTATIONS})
)
def test_the_selection_is_green_without_a_bug(package, structure, backend):
    result = run_selection(package, structure, backend)
    assert result.returncode == 0, result.stdout
    assert " passed" in result.stdout


@pytest.mark.slow
@pytest.mark.parametrize("mutation", MUTATIONS, ids=str)
def test_a_seeded_bug_turns_the_selection_red(package, mutation):
    (package / mutation.file).write_text(mutated(package, mutation), encoding="utf-8")
    result = run_selection(package, mutation.structure, mutation.backend)
    assert result.returncode == 1, f"not noticed:\n{result.stdout}\n{result.stderr}"
    failed = re.search(r"^(FAILED|ERROR) tests/\S+\.py::", result.stdout, re.MULTILINE)
    assert failed, f"no test ran:\n{result.stdout}"


@pytest.mark.parametrize("mutation", MUTATIONS, ids=str)
def test_every_mutation_changes_the_package(mutation):
    assert mutated(INSTALLED, mutation) != (INSTALLED / mutation.file).read_text(encoding="utf-8")
