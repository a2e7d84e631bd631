"""The tests that are run on a copy of the package with a bug in it, in a process of their own."""

import os
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
FILES = (
    "structures/test_conformance",
    "structures/test_dependency",
    "structures/test_log_prob",
    "structures/span_tree/test_distribution",
    "structures/bit_span_tree/test_distribution",
    "structures/second_order_tree/test_distribution",
    "structures/lexicalised_tree/test_distribution",
    "structures/table_structure/test_distribution",
    "structures/linear_chain/test_edges",
    "structures/semi_markov/test_distribution",
    "kernels/engine/test_rings",
    "kernels/engine/test_visits",
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
    "structures/non_projective_tree/test_kbest",
    "structures/non_projective_tree/test_matrix_tree",
    "structures/non_projective_tree/test_max_marginals",
    "structures/non_projective_tree/test_cpu_entropy",
    "kernels/test_candidates",
    "kernels/test_cpu_sample",
    "kernels/test_places",
    "structures/pcfg/test_backends",
    "structures/low_rank_pcfg/test_backends",
    "structures/k_subset/test_backends",
    "structures/pcfg/test_distribution",
    "mappings/test_sparsemax_entmax",
    "mappings/test_fusedmax_oscarmax",
    "mappings/test_ksubset_budget",
    "losses/test_vectors",
    "inference/test_sparsemap",
    "kernels/test_lp_sparsemap_kernels",
    "inference/test_lp_sparsemap",
    "factor_graph/test_belief_propagation",
    "factor_graph/test_enumeration",
    "factor_graph/test_mean_field",
    "factor_graph/test_oracles",
    "factor_graph/test_permitted",
)


def run(folder: Path, backend: str, arguments: list[str], output: Path) -> None:
    """Run the tests on the package in a folder, and end the process with pytest's status.

    This module imports nothing of the package, so that the copy is what the tests find.

    Args:
        folder: Holds the package.
        backend: The kernels that are tested: ``"cpu"``, or ``"reference"``.
        arguments: Those of pytest but files.
        output: The file for what pytest prints.
    """
    import torch

    torch.set_num_threads(1)
    with open(output, "w", encoding="utf-8") as stream:
        for descriptor in (1, 2):
            os.dup2(stream.fileno(), descriptor)
    sys.path[:0] = [str(folder), str(REPOSITORY)]
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path[:2])
    if backend == "reference":
        os.environ["STRUKT_BACKEND"] = "reference"
    os.chdir(REPOSITORY)
    import pytest

    files = [f"tests/{file}.py" for file in FILES]
    sys.exit(pytest.main(["-p", "tests.interpreted_kernels", *arguments, *files]))
