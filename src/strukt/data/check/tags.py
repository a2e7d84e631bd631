"""Checking the tags of a corpus.

Each check of a format reads a source, adds its problems to a report, and counts the sentences without problems
there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from strukt.data import columns, conllu, sentence
from strukt.data.check.report import Report, read_conllu
from strukt.data.files import Source
from strukt.data.files.blocks import blocks
from strukt.data.files.problems import Problem
from strukt.data.sentence import UNANNOTATED
from strukt.data.tag_schemes import Scheme, partial_sequence_faults, scheme_of, sequence_faults

COLUMNS = ("upos", "xpos")
"""The columns of CoNLL-U that contain tags."""


def check_conllu(
    source: Source,
    report: Report,
    column: str | None = None,
    constraints: str | None = None,
    partial: bool = False,
) -> None:
    """Check the tags in one column of CoNLL-U, or in all columns in use; with ``partial``, tags may be missing.

    If `constraints` names a tagging scheme, tags must follow it.
    """
    untagged: dict[str, Problem] = {}
    checked = COLUMNS if column is None else (column,)
    for parsed in read_conllu(source, report):
        before = report.problem_count
        if not parsed.words:
            report.add(conllu.no_words(parsed))
            continue
        for problem in parsed.forbidden_problems() if partial else ():
            report.add(problem)
        for name in checked:
            tags = parsed.column(name)
            if partial or UNANNOTATED not in tags:
                problems = partial_scheme_problems if partial else scheme_problems
                for problem in problems(parsed, tags, constraints):
                    report.add(problem)
            report.count_labels(name, (tag for tag in tags if tag != UNANNOTATED))
            if not partial and name not in untagged and (untagged_here := untagged_problem(parsed, name)):
                untagged[name] = untagged_here
        if report.problem_count == before:
            report.count(parsed)
    filled = [name for name, labels in report.labels.items() if labels]
    for name, problem in untagged.items():
        # A column that is always empty is not in use; a tagger can be trained on the other column.
        if name in filled or not filled:
            report.add(problem)


def check_columns(
    source: Source,
    report: Report,
    column: str | None = None,  # noqa: ARG001  # there is one column of tags only
    constraints: str | None = None,
    partial: bool = False,
) -> None:
    """Check a file of words and tags; with ``partial``, tags may be `_`.

    If `constraints` names a tagging scheme, tags must follow it. If it is None, a tag `I-X` must continue a span,
    unless ``partial`` is true.
    """
    for block in blocks(source, report.add):
        before = report.problem_count
        checked = columns.Sentence(block, columns.parse(block, report.add))
        if report.problem_count > before:
            continue
        untagged = list(columns.missing(checked))
        tags = [] if untagged else checked.column("tag")
        if report.accepts(checked, untagged or _column_problems(checked, tags, constraints, partial)):
            report.count_labels("tag", (tag for tag in tags if not (partial and tag == UNANNOTATED)))


def scheme_problems(
    checked: sentence.Sentence, tags: Sequence[str], constraints: str | None
) -> Iterator[Problem]:
    """Yield a problem for each word at which the tags break a scheme.

    `constraints` is the name of the scheme, as for the option `--constraints`; with None or "none", there are no
    problems.
    """
    if constraints is None or constraints == "none":
        return
    scheme = scheme_of(constraints)
    for position, message in sequence_faults(tags, scheme):
        remedy = f"{_remedy(tags[position], scheme)}, or choose other --constraints"
        yield Problem("span", message, remedy, checked.path, line_of(checked, position))


def partial_scheme_problems(
    checked: sentence.Sentence,
    tags: Sequence[str],
    constraints: str | None,
    labels: Sequence[str] | None = None,
) -> Iterator[Problem]:
    """Yield a problem for the first word at which tags break a scheme, whatever tags the untagged words have.

    Args:
        checked: The sentence.
        tags: Its tags; `UNANNOTATED` for untagged words.
        constraints: The name of the scheme, as for the option `--constraints`; with None or "none", there are no
            problems.
        labels: The tags that an untagged word may have; if None, all tags of the scheme.
    """
    if constraints is None or constraints == "none":
        return
    remedy = "correct a tag, leave out another one, or choose other --constraints"
    for position, message in partial_sequence_faults(tags, scheme_of(constraints), labels):
        yield Problem("span", message, remedy, checked.path, line_of(checked, position))


def span_problems(checked: sentence.Sentence, tags: Sequence[str]) -> Iterator[Problem]:
    """Yield a problem for each tag `I-X` that does not follow `B-X` or `I-X`; all other tags are valid."""
    for position, tag in enumerate(tags):
        before = tags[position - 1] if position else "O"
        if tag.startswith("I-") and before not in (tag, f"B-{tag[2:]}"):
            message = f"{tag} follows {before}"
            remedy = f"begin the span with B-{tag[2:]}"
            yield Problem("span", message, remedy, checked.path, line_of(checked, position))


def untagged_problem(checked: sentence.Sentence, column: str) -> Problem | None:
    """Return a problem for the first word without a tag in a column; None if every word has one."""
    for position, (form, tag) in enumerate(zip(checked.forms, checked.column(column), strict=True)):
        if tag == UNANNOTATED:
            name = column.upper()
            message = f"word {position + 1}, {form!r}, has no tag in the column {name}, and others may have none"
            remedy = "fill in the column, or train with --partial"
            return Problem("tag", message, remedy, checked.path, line_of(checked, position))
    return None


def line_of(checked: sentence.Sentence, position: int) -> int:
    """Return the line number of a word in its file."""
    return checked.words[position].line if isinstance(checked, conllu.Sentence) else checked.line + position


def _column_problems(
    checked: columns.Sentence, tags: Sequence[str], constraints: str | None, partial: bool
) -> Iterator[Problem]:
    """Return the problems with the tags of a sentence in a column file; see `check_columns`."""
    if constraints:
        return (partial_scheme_problems if partial else scheme_problems)(checked, tags, constraints)
    return iter(()) if partial else span_problems(checked, tags)


def _remedy(tag: str, scheme: Scheme) -> str:
    """Return the remedy for a tag that breaks a scheme."""
    kind = tag[1:]
    if scheme.name == "BIO" and scheme.has(tag):
        return f"begin the span with B{kind}"
    return f"rewrite the tags in {scheme.name}"
