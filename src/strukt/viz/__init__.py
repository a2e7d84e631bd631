"""Pictures of structures: in the terminal, as SVG, as a web page.

The names of this package are loaded on first use, and need neither PyTorch nor NumPy, except that the colours of
codes are computed with NumPy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from strukt.viz.html import page
    from strukt.viz.pictures.brackets.picture import Bracket, BracketDiagram
    from strukt.viz.pictures.curves import Curves
    from strukt.viz.pictures.dependency_tree.picture import Arc, Diagram
    from strukt.viz.pictures.graph import Edge, Graph
    from strukt.viz.pictures.heat_map import HeatMap
    from strukt.viz.pictures.interactions import Interaction, Interactions
    from strukt.viz.pictures.lattice import Lattice, Step
    from strukt.viz.pictures.weighted import WeightedStructures
    from strukt.viz.svg import document

__all__ = [
    "Arc",
    "Bracket",
    "BracketDiagram",
    "Curves",
    "Diagram",
    "Edge",
    "Graph",
    "HeatMap",
    "Interaction",
    "Interactions",
    "Lattice",
    "Step",
    "WeightedStructures",
    "document",
    "page",
]

_HOMES = {
    "html": ("page",),
    "pictures.dependency_tree.picture": ("Arc", "Diagram"),
    "pictures.brackets.picture": ("Bracket", "BracketDiagram"),
    "pictures.curves": ("Curves",),
    "pictures.graph": ("Edge", "Graph"),
    "pictures.heat_map": ("HeatMap",),
    "pictures.interactions": ("Interaction", "Interactions"),
    "pictures.lattice": ("Lattice", "Step"),
    "pictures.weighted": ("WeightedStructures",),
    "svg": ("document",),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"strukt.viz.{home}"), name)
    raise AttributeError(f"module 'strukt.viz' has no attribute {name!r}")
