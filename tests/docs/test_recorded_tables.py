"""The tables of pages are those of the recorded results."""

import pytest
from tests.docs import pages
from tests.docs.pages import DOCS, text_of

from strukt.reproduce import table as tables
from strukt.reproduce.results import Run, recorded

script = pages.script("recorded_tables")


@pytest.mark.parametrize("page", script.pages(), ids=lambda page: page.stem)
def test_pages_have_the_recorded_results(page):
    text = text_of(page)
    assert script.updated(text) == text, "rewrite them: python docs/recorded_tables.py"


def test_every_table_is_on_the_page():
    page = text_of(DOCS / "recipes" / "reproducing.md")
    shown = [names for kind, names in script.BLOCK.findall(page) if kind == "recorded"]
    assert sorted(shown) == list(tables.names())


def test_all_that_configurations_learn_in_minutes_is_on_the_page():
    page = text_of(DOCS / "recipes" / "published.md")
    shown = {
        name for kind, names in script.BLOCK.findall(page) if kind == "learned" for name in names.split()
    }
    assert shown == {
        name
        for name in tables.names()
        if any("--config" in run.command and run.development for run in recorded(name, quick=True).runs)
    }


def test_a_table_is_written_anew():
    old = "before\n<!-- recorded grammar -->\nold\n<!-- end -->\nafter\n"
    new = script.updated(old)
    assert new.startswith("before\n<!-- recorded grammar -->\nGrammars learned from short sentences of GUM. ")
    assert new.endswith("<!-- end -->\nafter\n")
    assert "\n| `tags` | grammar of tags | " in new
    assert script.updated(new) == new


@pytest.mark.parametrize(
    ("days", "when"),
    [
        (["", ""], ""),
        (["2026-11-29"], "; on 2026-11-29"),
        (["2026-11-30", "2026-11-28", "2026-11-29"], "; from 2026-11-28 to 2026-11-30"),
        (["2026-11-29", ""], "; on 2026-11-29, some runs without a date"),
    ],
)
def test_the_days_of_runs_are_told_from_the_first_to_the_last(days, when):
    runs = [Run("row", 1, "train", machine="CPU", date=day, versions={"strukt": "0.1.0"}) for day in days]
    assert script.machines(runs) == f"Recorded on CPU (strukt 0.1.0{when})."
