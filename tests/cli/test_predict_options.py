"""The options of `strukt predict` are those of its documentation."""

import re
from pathlib import Path

from strukt.cli import predict

PAGES = Path(__file__).parents[2] / "docs"


def test_the_reference_has_every_option_of_folders():
    page = (PAGES / "reference" / "cli.md").read_text(encoding="utf-8")
    section = page.partition("## Prediction into a folder")[2].partition("\n## ")[0]
    described = set(re.findall(r"`--(\w+)", section))
    assert described == {*predict.OF_FOLDERS, "output"}


def test_help_and_reference_have_the_same_size_of_shards():
    for page in ("reference/cli.md", "guides/scaling.md"):
        assert f"{predict.SHARD_SIZE:,}" in (PAGES / page).read_text(encoding="utf-8")
    assert f"{predict.SHARD_SIZE:,}" in predict._parser().format_help()
