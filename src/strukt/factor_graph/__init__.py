"""Factor graphs: binary variables, factors that connect them, and solvers for the whole graph."""

from strukt.factor_graph import factors
from strukt.factor_graph.factor import Factor
from strukt.factor_graph.factor_graph import FactorGraph
from strukt.factor_graph.variables import Variables, concatenate

__all__ = ["Factor", "FactorGraph", "Variables", "concatenate", "factors"]
