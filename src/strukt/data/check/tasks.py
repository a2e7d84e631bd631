"""Checking a corpus: all of its problems, and statistics of its contents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from strukt.data import text
from strukt.data.check import answers, entity_spans, parses, tags
from strukt.data.check.report import Report, read_conllu
from strukt.data.corpus import format_of
from strukt.data.files import Source, name_of
from strukt.data.tag_schemes import scheme_of
from strukt.errors import DataError

PARTIAL = ("tag", "dependency", "constituency", "ner", "pipeline")
"""Tasks of `check` that can be trained on partially annotated sentences."""


def check(
    task: str,
    source: Source,
    format: str | None = None,
    kept: int = 1000,
    partial: bool = False,
    **options: str | None,
) -> Report:
    r"""Check a whole corpus for one task; report all problems and statistics of its contents.

    Memory grows with the number of problems kept and of distinct labels, not with the file, except for pairs in
    CoNLL-U: all of them are held in memory.

    Args:
        task: "tag", "dependency", "constituency", "ner", "pipeline", "classify", "dictionary", "mlm", "lm",
            "sort", "count", "cogs", "nli" or "listops".
        source: A path, `-` for standard input, or an open stream.
        format: "conllu", "columns", "brackets", "jsonl", "cogs", "labelled", "pairs", "listops" or "text", if the
            task supports it; if None, inferred from the file name.
        kept: Maximum number of problems of each kind to keep; all are counted.
        partial: Whether sentences may be partially annotated, as in training: `_` as a tag or head, trees with the
            outermost label `_`, entities marked as partial. For the tasks in `PARTIAL`.
        options: For the task "tag", as in training. `column` is "upos" or "xpos", for CoNLL-U; None checks those
            with tags. `constraints` is the tagging scheme, such as "bioes", or "none". None for `constraints` is
            "none" in CoNLL-U; in column files, `I-X` must then follow `B-X` or `I-X` unless `partial` is true.

    Returns:
        The report, with the problems, the counts, and the frequency of each label.

    Raises:
        DataError: If the file cannot be opened, or its format cannot be inferred or does not fit the task.
        ValueError: If there is no such task, the task has no such option, or there is no such column or tagging
            scheme.

    Examples:
        >>> import io
        >>> report = check("tag", io.BytesIO(b"Ada\tI-PER\nis\n\n"), "columns")
        >>> for problem in report.problems:
        ...     print(problem)
        <stream>:2: the word 'is' has no tag; write it after the word and a TAB
    """
    formats = [name for for_task, name in _CHECKS if for_task == task]
    if not formats:
        tasks = ", ".join(dict.fromkeys(known for known, _ in _CHECKS))
        raise ValueError(f"task: there is no check for {task!r}; choose one of {tasks}")
    format = format or format_of(source, formats)
    if format not in formats:
        raise DataError(
            f"the task {task} needs the format {' or '.join(formats)}, not {format}", name_of(source)
        )
    chosen = {name: value for name, value in options.items() if value is not None}
    if chosen and (task != "tag" or not chosen.keys() <= {"column", "constraints"}):
        raise ValueError(f"{', '.join(chosen)}: the task {task} has no such option")
    if chosen.get("column", "upos") not in tags.COLUMNS:
        raise ValueError(f"column is {chosen['column']!r}; expected one of {', '.join(tags.COLUMNS)}")
    if chosen.get("constraints", "none") != "none":
        scheme_of(chosen["constraints"])
    if partial and task not in PARTIAL:
        raise ValueError(f"partial: the task {task} has no such option")
    report = Report(name_of(source), kept)
    _CHECKS[task, format](source, report, **chosen, **({"partial": True} if partial else {}))
    return report


def _check_text(source: Source, report: Report) -> None:
    """Check plain text; see `strukt.data.check.answers` for the arguments of checks."""
    for sentence in text.read(source, report.add):
        report.count(sentence)


def _check_words(source: Source, report: Report) -> None:
    """Check CoNLL-U for a task that needs only words."""
    for sentence in read_conllu(source, report):
        report.count(sentence)


_CHECKS: Mapping[tuple[str, str], Callable[..., None]] = MappingProxyType(
    {
        ("tag", "conllu"): tags.check_conllu,
        ("tag", "columns"): tags.check_columns,
        ("dependency", "conllu"): parses.check_dependency,
        ("constituency", "brackets"): parses.check_brackets,
        ("constituency", "conllu"): parses.check_constituency,
        ("ner", "conllu"): entity_spans.check_conllu,
        ("ner", "columns"): entity_spans.check_columns,
        ("ner", "jsonl"): entity_spans.check_json_lines,
        ("pipeline", "conllu"): parses.check_layers,
        ("classify", "labelled"): answers.check_classes,
        ("classify", "conllu"): answers.check_conllu_classes,
        ("dictionary", "labelled"): answers.check_classes,
        ("dictionary", "conllu"): answers.check_conllu_classes,
        ("mlm", "text"): _check_text,
        ("mlm", "conllu"): _check_words,
        ("mlm", "brackets"): parses.check_brackets,
        ("lm", "text"): _check_text,
        ("lm", "conllu"): _check_words,
        ("lm", "brackets"): parses.check_brackets,
        ("sort", "text"): answers.check_numbers,
        ("sort", "conllu"): answers.check_conllu_numbers,
        ("count", "text"): partial(answers.check_numbers, largest=1),
        ("count", "conllu"): partial(answers.check_conllu_numbers, largest=1),
        ("cogs", "cogs"): answers.check_cogs,
        ("nli", "pairs"): answers.check_pairs,
        ("nli", "conllu"): answers.check_conllu_pairs,
        ("listops", "listops"): answers.check_listops,
    }
)
