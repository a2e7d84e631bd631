"""A hook of mkdocs that leaves source code out of the search, and lists guides before the reference."""

from __future__ import annotations

from typing import Any

from mkdocs.structure.pages import Page

SOURCE = '<details class="mkdocstrings-source"'


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Halve the rank of pages of the reference."""
    if page.file.src_uri.startswith("reference/"):
        page.meta.setdefault("search", {"boost": 0.5})
    return markdown


def on_page_content(html: str, **_: Any) -> str:
    """Mark the source code below docstrings as no text to search in."""
    return html.replace(SOURCE, f"{SOURCE} data-search-exclude")
