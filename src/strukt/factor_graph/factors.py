"""All factors by name: ``from strukt.factor_graph import factors``."""

from strukt.factor_graph.dense import Dense
from strukt.factor_graph.factor import Factor
from strukt.factor_graph.knapsack import Knapsack, RelaxedKnapsack
from strukt.factor_graph.logic import And, AtMostOne, Budget, Imply, Or, OrOut, Xor, XorOut
from strukt.factor_graph.pairwise import Pairwise
from strukt.factor_graph.structures import Chain, Matching, ProjectiveTree, Structure, Tree

__all__ = [
    "And",
    "AtMostOne",
    "Budget",
    "Chain",
    "Dense",
    "Factor",
    "Imply",
    "Knapsack",
    "Matching",
    "Or",
    "OrOut",
    "Pairwise",
    "ProjectiveTree",
    "RelaxedKnapsack",
    "Structure",
    "Tree",
    "Xor",
    "XorOut",
]
