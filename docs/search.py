"""A hook of mkdocs that leaves source code out of the search, and lists guides before other pages."""

from __future__ import annotations

from typing import Any

from mkdocs.structure.pages import Page

RANKS = {"reference/": 0.5, "coming-from/": 0.5, **dict.fromkeys(("changelog", "contributing", "benchmarks"), 0.1)}
"""Factors of the rank of pages that readers seldom look for, by the beginning of their path."""

SOURCE = '<details class="mkdocstrings-source"'


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Lower the rank of the pages of `RANKS`."""
    for beginning, rank in RANKS.items():
        if page.file.src_uri.startswith(beginning):
            page.meta.setdefault("search", {"boost": rank})
    return markdown


def on_page_content(html: str, **_: Any) -> str:
    """Exclude the source code below docstrings from the search."""
    return html.replace(SOURCE, f"{SOURCE} data-search-exclude")
