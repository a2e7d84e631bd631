"""Checking corpora of list expressions (ListOps); part of `check`."""

from __future__ import annotations

from strukt.data import listops
from strukt.data.check.report import Report
from strukt.data.files import Source


def check_listops(source: Source, report: Report) -> None:
    """Check a file in the format of ListOps; a missing or wrong value is a problem, too."""
    for sentence in listops.read(source, report.add):
        if sentence.label is None:
            report.add(listops.missing(sentence))
        elif sentence.label != str(sentence.expression.value):
            report.add(listops.wrong(sentence))
        else:
            report.count(sentence)
            report.counts["operators"] += len(sentence.arities)
            report.count_labels("value", [sentence.label])
            report.count_labels("arity", map(str, sentence.arities))
