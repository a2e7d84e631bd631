"""Pictures show themselves in notebooks."""

from __future__ import annotations


class Shown:
    """What Jupyter and its like draw as SVG where it is the value of a cell."""

    def _repr_svg_(self) -> str:
        from strukt.viz import svg  # which knows all pictures

        return svg.document(self)  # type: ignore[arg-type]
