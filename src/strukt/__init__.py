"""Structured inference as differentiable PyTorch layers.

Names are loaded on first use, so that ``import strukt`` costs nothing beyond Python itself.

Examples:
    >>> import torch, strukt
    >>> strukt.LinearChain(torch.zeros(3, 2), torch.zeros(2, 2)).log_count.exp()
    tensor(8.)
"""

from __future__ import annotations

import importlib
from importlib.metadata import version as _version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from strukt import factor_graph
    from strukt.checks.lengths import lengths_from_mask, pad_concatenated
    from strukt.checks.validation import set_default_validate_args
    from strukt.distributions import *
    from strukt.errors import DataError, InfeasibleError, MissingExtraError, StruktError
    from strukt.factor_graph import FactorGraph, factors
    from strukt.kernels.engine.program import Program, ProgramBuilder
    from strukt.losses import (
        budget_loss,
        ctc_loss,
        entmax15_loss,
        entmax_loss,
        fenchel_young_loss,
        fusedmax_loss,
        ksubset_loss,
        normmax_loss,
        oscarmax_loss,
        rnnt_loss,
        sparsemax_loss,
    )
    from strukt.mappings import budget, entmax, entmax15, fusedmax, ksubset, normmax, oscarmax, sparsemax
    from strukt.structures.ctc.decoding import ctc_beam_search, ctc_greedy
    from strukt.structures.hmm.guide import HMMGuide
    from strukt.structures.hmm.priors import GaussianPrior, PoissonPrior, Priors
    from strukt.structures.pcfg.guide import PCFGGuide
    from strukt.train.saved_model import load

_PACKAGES = (
    "automata",
    "data",
    "distributions",
    "errors",
    "factor_graph",
    "inference",
    "losses",
    "mappings",
    "metrics",
    "nn",
    "testing",
    "viz",
)
"""Packages and modules that need no extra. They are imported on first use: ``import strukt`` suffices for
``strukt.nn``."""

_HOMES = {
    "DataError": "strukt.errors",
    "GaussianPrior": "strukt.structures.hmm.priors",
    "InfeasibleError": "strukt.errors",
    "MissingExtraError": "strukt.errors",
    "StruktError": "strukt.errors",
    "FactorGraph": "strukt.factor_graph",
    "HMMGuide": "strukt.structures.hmm.guide",
    "PCFGGuide": "strukt.structures.pcfg.guide",
    "PoissonPrior": "strukt.structures.hmm.priors",
    "Priors": "strukt.structures.hmm.priors",
    "Program": "strukt.kernels.engine.program",
    "ProgramBuilder": "strukt.kernels.engine.program",
    "factors": "strukt.factor_graph",
    "lengths_from_mask": "strukt.checks.lengths",
    "pad_concatenated": "strukt.checks.lengths",
    "set_default_validate_args": "strukt.checks.validation",
    "budget_loss": "strukt.losses",
    "ctc_beam_search": "strukt.structures.ctc.decoding",
    "ctc_greedy": "strukt.structures.ctc.decoding",
    "ctc_loss": "strukt.losses",
    "entmax15_loss": "strukt.losses",
    "entmax_loss": "strukt.losses",
    "fenchel_young_loss": "strukt.losses",
    "fusedmax_loss": "strukt.losses",
    "ksubset_loss": "strukt.losses",
    "normmax_loss": "strukt.losses",
    "oscarmax_loss": "strukt.losses",
    "rnnt_loss": "strukt.losses",
    "sparsemax_loss": "strukt.losses",
    "budget": "strukt.mappings",
    "entmax": "strukt.mappings",
    "entmax15": "strukt.mappings",
    "fusedmax": "strukt.mappings",
    "ksubset": "strukt.mappings",
    "normmax": "strukt.mappings",
    "oscarmax": "strukt.mappings",
    "sparsemax": "strukt.mappings",
    "load": "strukt.train.saved_model",
}
"""The module of each public name; names that are not listed are in `strukt.distributions`."""

__all__ = [
    "CTC",
    "HMM",
    "KDPP",
    "PCFG",
    "Banded",
    "BinaryCRF",
    "BitSpanTree",
    "Blocked",
    "Categorical",
    "CheckpointedChain",
    "DataError",
    "Dense",
    "Embedded",
    "FactorGraph",
    "Gaussian",
    "GaussianMixture",
    "GaussianPrior",
    "HMMGuide",
    "InfeasibleError",
    "KSubset",
    "LexicalisedTree",
    "LinearChain",
    "LowRank",
    "LowRankPCFG",
    "Matching",
    "MissingExtraError",
    "MonotoneAlignment",
    "NonProjectiveTree",
    "PCFGGuide",
    "Poisson",
    "PoissonPrior",
    "Priors",
    "Program",
    "ProgramBuilder",
    "ProjectiveTree",
    "SecondOrderTree",
    "SemiMarkov",
    "ShardedHMM",
    "SpanTree",
    "SpanningTree",
    "StructuredDistribution",
    "StruktError",
    "TableStructure",
    "Transducer",
    "budget",
    "budget_loss",
    "ctc_beam_search",
    "ctc_greedy",
    "ctc_loss",
    "entmax",
    "entmax15",
    "entmax15_loss",
    "entmax_loss",
    "factor_graph",
    "factors",
    "fenchel_young_loss",
    "fusedmax",
    "fusedmax_loss",
    "ksubset",
    "ksubset_loss",
    "lengths_from_mask",
    "load",
    "normmax",
    "normmax_loss",
    "oscarmax",
    "oscarmax_loss",
    "pad_concatenated",
    "rnnt_loss",
    "set_default_validate_args",
    "sparsemax",
    "sparsemax_loss",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version("strukt")
    if name in _PACKAGES:
        return importlib.import_module(f"strukt.{name}")
    if name not in __all__:
        from strukt.missing_names import missing_name

        raise missing_name("strukt", name)
    return getattr(importlib.import_module(_HOMES.get(name, "strukt.distributions")), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
