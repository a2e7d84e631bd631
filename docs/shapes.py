"""The shapes of the documentation's pictures, as elements of SVG, and their style sheet."""

from __future__ import annotations

STYLE = """
svg { --ink: #1c2430; --quiet: #5b6672; --line: #8494a8; --net: #b9c4d2; --paper: #ffffff;
      --map: #b3261e; --marginals: #1f5fa8; --sparsemap: #00705a; --field: #8a4b9a; }
@media (prefers-color-scheme: dark) {
  svg { --ink: #e8ecf1; --quiet: #a3aebb; --line: #8191a8; --net: #435066; --paper: #14181e;
        --map: #ff9b8f; --marginals: #8fc1ff; --sparsemap: #5fd3b4; --field: #dba3e8; }
}
text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; font-size: 15px;
       text-anchor: middle; fill: var(--ink); }
.paper { fill: var(--paper); } .quiet { fill: var(--quiet); font-size: 13px; } .name { font-weight: 600; }
.left { text-anchor: start; } .edge, .net, .lead { fill: none; stroke: var(--line); stroke-width: 1.6px; }
.net { stroke: var(--net); stroke-width: 1px; } .behind { stroke-dasharray: 7 5; } .corner { fill: var(--line); }
.lead { stroke-width: 1px; } .map { fill: var(--map); } .marginals { fill: var(--marginals); }
.sparsemap { fill: var(--sparsemap); } .field { fill: var(--field); }
.small { font-size: 13px; } .frame { fill: none; stroke: var(--net); stroke-width: 1px; }
.arc { fill: none; }
.arc.marginals { stroke: var(--marginals); } .arc.sparsemap { stroke: var(--sparsemap); }
.dot { stroke: var(--paper); stroke-width: 2px; }
"""


def dot(role: str, x: float, y: float, radius: int) -> str:
    """Return a disc; like that of other shapes, its role is a class of the style sheet."""
    return f'<circle class="{role}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>'


def line(role: str, start: tuple[float, float], stop: tuple[float, float]) -> str:
    """Return a straight line between two points (x, y)."""
    return f'<path class="{role}" d="M{start[0]:.1f} {start[1]:.1f} L{stop[0]:.1f} {stop[1]:.1f}"/>'


def text(x: float, y: float, role: str, content: str) -> str:
    """Return text centred at `x`, with its baseline at `y`."""
    return f'<text class="{role}" x="{x:.1f}" y="{y:.1f}">{content}</text>'


def number(value: float, digits: int) -> str:
    """Return a number with some decimals; "0" if it is exactly 0, up to rounding errors."""
    return "0" if abs(value) < 1e-12 else f"{value:.{digits}f}"


def svg(width: int, height: int, label: str, shapes: list[str]) -> str:
    """Return a complete picture; `label` describes it for screen readers."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}" width="{width}" '
        f'height="{height}" viewBox="0 0 {width} {height}">\n<style>{STYLE}</style>'
    )
    paper = f'<rect class="paper" width="{width}" height="{height}" rx="8"/>'
    return "\n".join([head, paper, *shapes, "</svg>\n"])
