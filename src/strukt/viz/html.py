"""Pictures as a self-contained web page."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path

from strukt.viz import svg
from strukt.viz.canvas.width import printable
from strukt.viz.pictures.dependency_tree.picture import Diagram

_STYLE = Path(__file__).with_name("page.css").read_text(encoding="utf-8")


def page(diagrams: Iterable[svg.Picture], title: str) -> str:
    """Return a complete page without scripts, fonts or links, which follows the reader's light or dark mode.

    Args:
        diagrams: The pictures.
        title: The heading of the page and the title of its window. All text is escaped.

    Raises:
        TypeError: If a diagram is not a picture or cannot be drawn as SVG.

    Examples:
        >>> from strukt.viz import Diagram
        >>> text = page([Diagram(["a < b"], ["NOUN"])], "one & two")
        >>> "<h1>one &amp; two</h1>" in text, "a &lt; b" in text
        (True, True)
    """
    heading = escape(printable(title))
    figures = "\n".join(
        f"<figure>\n{_caption(diagram)}{svg.draw(diagram)}\n</figure>" for diagram in diagrams
    )
    return f"""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{heading}</title>
<style>
{_STYLE}{svg.STYLE}</style>
</head>
<body>
<main>
<h1>{heading}</h1>
{figures}
</main>
</body>
</html>
"""


def _caption(picture: svg.Picture) -> str:
    """Return the title of a sentence as a caption; tables and graphs have their title in the picture."""
    title = picture.title if isinstance(picture, Diagram) else ""
    return f"<figcaption>{escape(printable(title))}</figcaption>\n" if title else ""
