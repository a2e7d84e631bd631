"""The page of results keeps what people wrote on it."""

from pathlib import Path

import pytest
import torch
from benchmarks.page import PageError, machine, publish, replace_section, require_section

PAGE = "# Title\n\n<!-- a: begin -->\nold\n<!-- a: end -->\n\ntext\n\n<!-- b: begin -->\n<!-- b: end -->\n"


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.md"
    path.write_text(PAGE)
    return path


def test_only_the_section_changes_however_often_it_is_replaced(page: Path) -> None:
    for _ in range(2):
        replace_section(page, "a", "new")
        assert page.read_text() == PAGE.replace("old", "new")
    replace_section(page, "b", "filled")
    assert "<!-- b: begin -->\nfilled\n<!-- b: end -->" in page.read_text()
    assert [path.name for path in page.parent.iterdir()] == ["page.md"]


def test_a_page_without_the_section_is_refused_and_kept(page: Path) -> None:
    with pytest.raises(PageError, match="needs the lines '<!-- c: begin -->' and '<!-- c: end -->'"):
        replace_section(page, "c", "new")
    assert page.read_text() == PAGE
    with pytest.raises(PageError, match=r"missing\.md"):
        replace_section(page.with_name("missing.md"), "a", "new")


def test_the_section_is_asked_for_before_anything_is_measured(page: Path) -> None:
    require_section("a", str(page))
    require_section("c", None)
    with pytest.raises(PageError, match="c: begin"):
        require_section("c", str(page))


def test_results_are_printed_with_and_without_a_page(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    publish("numbers", "a", None)
    publish("more numbers", "a", str(page))
    assert capsys.readouterr().out == "numbers\nmore numbers\n"
    assert "more numbers" in page.read_text()


def test_the_machine_is_named_with_its_versions() -> None:
    line = machine(threads=3)
    assert "3 threads, " in line
    assert "1 thread, " in machine(threads=1)
    assert "load of other programs" in line
    assert f"torch {torch.__version__}" in line
