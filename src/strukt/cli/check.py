"""`strukt check`: list the errors of a corpus with file and line, and summarise its contents."""

from __future__ import annotations

import textwrap
from collections import Counter

from strukt.cli import console, corpora
from strukt.cli.console import UsageError
from strukt.cli.options import Parser, add_format
from strukt.cli.table import table
from strukt.data.check import PARTIAL, check
from strukt.data.check.report import Report
from strukt.data.tag_schemes import SCHEMES
from strukt.tasks import TASKS
from strukt.viz.canvas.width import printable

FAULTY = 2
SHOWN_PROBLEMS = 20
"""Maximum number of problems listed of each kind."""
WIDTH = 100
"""Maximum width of the lines that list labels."""
SHOWN_LABELS = 12
"""Maximum number of labels listed for a column, the most frequent first, with their counts."""


def run(arguments: list[str]) -> int:
    """Print the first problems of each kind and the counts; return 2 if reading cannot repair all problems."""
    options = _parser().parse(arguments)
    task = console.choose(options.task, TASKS, "task")
    corpora.require_files([options.file])
    chosen = {"column": options.column, "constraints": options.constraints}
    for name, value in chosen.items():
        if value is not None and task != "tag":
            raise UsageError(f"--{name} is an option of the task tag, not of {task}")
    if options.partial and task not in PARTIAL:
        raise UsageError(f"--partial is an option of the tasks {', '.join(PARTIAL)}, not of {task}")
    report = check(task, options.file, options.format, SHOWN_PROBLEMS, options.partial, **chosen)
    listed = Counter[tuple[str, bool]]()
    for problem in report.problems:
        print(printable(f"{problem} [repaired]" if problem.repaired else str(problem)))
        listed[problem.kind] += 1
        unlisted = report.kinds[problem.kind] - SHOWN_PROBLEMS
        if listed[problem.kind] == SHOWN_PROBLEMS and unlisted > 0:
            print(f"... and {unlisted:,} more of this kind")
    print(contents(report))
    return FAULTY if report.problem_count else 0


def contents(report: Report) -> str:
    """Summarise the contents of a corpus: counts, and the labels of each column.

    Examples:
        >>> labels = {"upos": Counter(NOUN=1, VERB=1)}
        >>> print(contents(Report("a.conllu", sentences=1, words=2, labels=labels)))
        problems          0
        sentences         1
        words             2
        longest sentence  0
        upos labels       2
        <BLANKLINE>
        upos  NOUN 1, VERB 1
    """
    rows = [("problems", f"{report.problem_count:,}")]
    if report.repair_count:
        rows.append(("repaired", f"{report.repair_count:,}"))
    rows += [(name, f"{count:,}") for name, count in report.summary().items()]
    listed = [_frequencies(column, counts) for column, counts in report.labels.items() if counts]
    return "\n\n".join([table(rows), *listed])


def _frequencies(column: str, labels: Counter[str]) -> str:
    """List the most frequent labels of a column with their counts, in lines of `WIDTH` characters or fewer.

    All lines but the first are indented. A label and its count are on the same line.
    """
    shown = [f"{printable(label)}\xa0{count:,}" for label, count in labels.most_common(SHOWN_LABELS)]
    more = len(labels) - len(shown)
    text = f"{column}  {', '.join([*shown, f'and {more} more'] if more else shown)}"
    lines = textwrap.fill(
        text, WIDTH, subsequent_indent=" " * (len(column) + 2), break_long_words=False, break_on_hyphens=False
    )
    return lines.replace("\xa0", " ")


def _parser() -> Parser:
    parser = Parser("check", "List the errors of a corpus with file and line, and summarise its contents.")
    parser.add_argument("task", metavar="TASK", help=f"task that the corpus is for: {', '.join(TASKS)}")
    parser.add_argument("file", metavar="FILE", help="the corpus; - is standard input")
    parser.add_argument(
        "--column",
        choices=["upos", "xpos"],
        help="for the task tag: the column of CoNLL-U, as in training (both)",
    )
    parser.add_argument(
        "--constraints",
        choices=["none", *(name.lower() for name in SCHEMES)],
        help="for the task tag: the scheme of tags that mark spans, as in training",
    )
    parser.add_argument(
        "--partial",
        action="store_true",
        help=f"for the tasks {', '.join(PARTIAL)}: sentences may be partially annotated, as in training",
    )
    add_format(parser)
    return parser
