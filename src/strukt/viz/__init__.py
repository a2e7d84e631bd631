"""Pictures of structures: in the terminal, as SVG, as a page.

Names are loaded when they are first used: what draws text alone needs no NumPy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from strukt.viz.brackets import Bracket, BracketDiagram
    from strukt.viz.curves import Curves
    from strukt.viz.diagram import Arc, Diagram
    from strukt.viz.graph import Edge, Graph
    from strukt.viz.heat_map import HeatMap
    from strukt.viz.html import page
    from strukt.viz.interactions import Interaction, Interactions
    from strukt.viz.lattice import Lattice, Step
    from strukt.viz.svg import document
    from strukt.viz.weighted import WeightedStructures

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
    "brackets": ("Bracket", "BracketDiagram"),
    "curves": ("Curves",),
    "diagram": ("Arc", "Diagram"),
    "graph": ("Edge", "Graph"),
    "heat_map": ("HeatMap",),
    "html": ("page",),
    "interactions": ("Interaction", "Interactions"),
    "lattice": ("Lattice", "Step"),
    "svg": ("document",),
    "weighted": ("WeightedStructures",),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"strukt.viz.{home}"), name)
    raise AttributeError(f"module 'strukt.viz' has no attribute {name!r}")
