"""The suite notices every seeded bug: a fast selection of it turns red when one line of the package is wrong."""

import multiprocessing
import re
import shutil
from pathlib import Path

import pytest
from tests.mutations import selection
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
INSTALLED = Path(strukt.__file__).parent
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["hypothesis", "mpmath", "pytest", "scipy.stats", "torch"])
"""A process for each bug, forked where all is imported but the package."""

TIMEOUT = 600
"""Seconds for a selection, which a bug may keep from ending."""

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
    CHAIN: "(test_events and test_tags) or (linear_chain and of_a_group) or "
    "(of_any_number_of_labels and 33-unchanged) or (of_any_batch and 9-1-unchanged) or test_candidates or "
    "(test_cpu_sample and (impossible or share or log_space)) or (more_than_there_are and chain) or "
    "test_places or (test_log_prob and ((gradient_equal and LinearChain) or get_none))",
    PLANAR: "test_visits or (test_events and test_dependency_trees) or "
    "(test_trees_of_any_length and 9-unchanged) or (k_best_of_any_size and root and 5-unchanged) or "
    "(test_ties_and_forbidden_parts and ProjectiveTree and 1)",
    FREE: "(test_events and test_dependency_trees) or "
    "(test_trees_of_any_length and 9-unchanged) or (test_kbest.py and k_best and (3 or 4)) or "
    "(test_matrix_tree and test_pairs_that) or "
    "(non_projective_tree and test_max_marginals and enumeration and 3) or "
    "(test_cpu_entropy and right and (2 or 4-1.0-unchanged))",
    SPANS: "test_visits or test_rings or (test_cpu_sample and falls_on) or "
    "(span_trees_of_any_length and 9-unchanged) or "
    "(k_best_of_any_size and spans and 5-unchanged) or (test_derivatives and labels and (9-unchanged or 3-steep))",
    CODES: "test_visits or lack_a_bit or (trees_with_codes_of_any_length and 9-unchanged) or "
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
    VECTORS: "((test_sparsemax_entmax or test_fusedmax or test_ksubset_budget) and (optimal or derivatives)) or "
    "(test_vectors and (gradient_is or all_derivatives or conjugate))",
    SPARSE: "test_sparsemap and (kernels_equal or gradient_in or same_point or warm_start or all_scores_tie)",
    GRAPHS: "test_lp_sparsemap_kernels or "
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


def run_selection(package: Path, structure: str, backend: str) -> tuple[int, str]:
    """The status and the output of the selection on the copied package, its kernels run as plain Python."""
    chosen = f"({' or '.join(LAWS)}) and ({structure} or {MODULES[structure]})" + (
        f" or ({BACKENDS[structure]})" if backend == "cpu" else ""
    )
    arguments = ["--slow", "-x", "-q", "-p", "no:cacheprovider", "-W", "ignore", "-k", chosen]
    output = package.parent / "output"
    process = FORKS.Process(target=selection.run, args=(package.parent, backend, arguments, output))
    process.start()
    process.join(TIMEOUT)
    if process.is_alive():
        process.kill()
        process.join()
    return process.exitcode, output.read_text(encoding="utf-8", errors="replace")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("structure", "backend"), sorted({(mutation.structure, mutation.backend) for mutation in MUTATIONS})
)
def test_the_selection_is_green_without_a_bug(package, structure, backend):
    status, output = run_selection(package, structure, backend)
    assert status == 0, output
    assert " passed" in output


@pytest.mark.slow
@pytest.mark.parametrize("mutation", MUTATIONS, ids=str)
def test_a_seeded_bug_turns_the_selection_red(package, mutation):
    (package / mutation.file).write_text(mutated(package, mutation), encoding="utf-8")
    status, output = run_selection(package, mutation.structure, mutation.backend)
    assert status == 1, f"not noticed:\n{output}"
    assert re.search(r"^(FAILED|ERROR) tests/\S+\.py::", output, re.MULTILINE), f"no test ran:\n{output}"


@pytest.mark.parametrize("mutation", MUTATIONS, ids=str)
def test_every_mutation_changes_the_package(mutation):
    assert mutated(INSTALLED, mutation) != (INSTALLED / mutation.file).read_text(encoding="utf-8")
