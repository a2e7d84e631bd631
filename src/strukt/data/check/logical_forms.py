"""Checking corpora of logical forms (COGS); part of `check`."""

from __future__ import annotations

from strukt.data.check.report import Report
from strukt.data.files import Source
from strukt.data.logical_forms import NONE, cogs


def check_cogs(source: Source, report: Report) -> None:
    """Check a file in the format of COGS; a logical form that tags cannot express is a problem, too."""
    for sentence in cogs.read(source, report.add):
        if sentence.tags is None:
            report.add(cogs.missing(sentence))
            continue
        report.count(sentence)
        report.counts["primitives"] += len(sentence) == 1
        for name, tags in sentence.tags._asdict().items():
            report.count_labels(name, (tag for tag in tags if tag != NONE))
        report.count_labels("case", [sentence.case] if sentence.case else [])
