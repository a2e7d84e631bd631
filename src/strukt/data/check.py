"""What is wrong with a corpus, all of it, and what is in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from strukt.data import columns, conllu, trees
from strukt.data.blocks import Block, blocks
from strukt.data.check_entities import ENTITY_CHECKS
from strukt.data.conllu import block_without_space, tree_problems
from strukt.data.conllu_rules import parse
from strukt.data.corpus import format_of
from strukt.data.files import Source, name_of
from strukt.data.problems import Problem
from strukt.data.sentence import Sentence
from strukt.errors import DataError


@dataclass
class Report:
    """What a check has found.

    Attributes:
        path: The file.
        problems: The problems in the order of the file, as many as were asked for.
        problem_count: The number of all problems, without the repaired ones.
        repair_count: The number of problems that reading repairs.
        sentences: Sentences without such a problem; all counts below are of these.
        words: Their words.
        longest: Number of words of the longest one.
        longest_line: The line where that one begins.
        counts: What is counted for this task and format alone, such as multiword tokens.
        labels: By name of the column, how often each label occurs.
    """

    path: str
    kept: int = 1000
    problems: list[Problem] = field(default_factory=list)
    problem_count: int = 0
    repair_count: int = 0
    sentences: int = 0
    words: int = 0
    longest: int = 0
    longest_line: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    labels: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, problem: Problem) -> None:
        """Takes a problem down."""
        self.repair_count += problem.repaired
        self.problem_count += not problem.repaired
        if len(self.problems) < self.kept:
            self.problems.append(problem)

    def count(self, sentence: Sentence) -> None:
        """Counts a sentence without problems."""
        self.sentences += 1
        self.words += len(sentence)
        if len(sentence) > self.longest:
            self.longest, self.longest_line = len(sentence), sentence.line

    def count_labels(self, column: str, labels: Iterable[str]) -> None:
        """Counts the labels of a column."""
        self.labels.setdefault(column, Counter()).update(labels)

    def summary(self) -> dict[str, int]:
        """All counts in one table; of each column, how many different labels it has."""
        sizes = {"sentences": self.sentences, "words": self.words, "longest sentence": self.longest}
        labels = {f"{column} labels": len(labels) for column, labels in self.labels.items()}
        return sizes | dict(self.counts) | labels


def check(task: str, source: Source, format: str | None = None, kept: int = 1000) -> Report:
    r"""Reads a whole corpus and says everything that is wrong with it, for one task, and what is in it.

    Memory grows with the number of problems that are kept and of different labels, not with the file.

    Args:
        task: "tag", "dependency" or "ner".
        source: A path, `-` for standard input, or an open stream.
        format: "conllu", "columns", or for entities "jsonl"; if None it is known from the name of the file.
        kept: The number of problems to keep; all are counted.

    Raises:
        DataError: The file cannot be opened, or its format does not fit the task.
        ValueError: There is no such task.

    Examples:
        >>> import io
        >>> report = check("tag", io.BytesIO(b"Ada\tI-PER\nis\n\n"), "columns")
        >>> for problem in report.problems:
        ...     print(problem)
        <stream>:2: the word 'is' has no tag; write it after the word and a TAB
    """
    tasks = dict.fromkeys(known for known, _ in _CHECKS)
    if task not in tasks:
        raise ValueError(f"task: there is no check for {task!r}; choose one of {', '.join(tasks)}")
    format = format or format_of(source)
    if (task, format) not in _CHECKS:
        known = " or ".join(name for for_task, name in _CHECKS if for_task == task)
        raise DataError(f"the task {task} needs the format {known}, not {format}", name_of(source))
    report = Report(name_of(source), kept)
    check_source = _CHECKS[task, format]
    check_source(source, report)
    return report


def _check_dependency(source: Source, report: Report) -> None:
    for block in blocks(source, report.add):
        sentence = _conllu_sentence(block, report)
        if sentence is None:
            continue
        faults = list(tree_problems(sentence))
        for problem in faults:
            report.add(problem)
        if not faults:
            report.count(sentence)
            report.count_labels("deprel", sentence.deprels)
            report.counts["non-projective sentences"] += not trees.is_projective(sentence.heads)


def _check_conllu_tags(source: Source, report: Report) -> None:
    untagged: dict[str, Problem] = {}
    for block in blocks(source, report.add):
        sentence = _conllu_sentence(block, report)
        if sentence is None:
            continue
        report.count(sentence)
        for column in ("upos", "xpos"):
            tags = sentence.column(column)
            report.count_labels(column, (tag for tag in tags if tag != "_"))
            if "_" in tags and column not in untagged:
                untagged[column] = _untagged(sentence, column, tags.index("_"))
    filled = [column for column, labels in report.labels.items() if labels]
    for column, problem in untagged.items():
        # A column that is empty throughout is not used; a tagger can be trained on the other one.
        if column in filled or not filled:
            report.add(problem)


def _check_column_tags(source: Source, report: Report) -> None:
    for block in blocks(source, report.add):
        before = report.problem_count
        sentence = columns.Sentence(block, columns.parse(block, report.add))
        if report.problem_count > before:
            continue
        untagged = list(columns.missing(sentence))
        tags = [] if untagged else sentence.column("tag")
        for problem in untagged or _span_problems(sentence, tags):
            report.add(problem)
        if report.problem_count > before:
            continue
        report.count(sentence)
        report.count_labels("tag", tags)


_CHECKS: Mapping[tuple[str, str], Callable[[Source, Report], None]] = MappingProxyType(
    {
        ("tag", "conllu"): _check_conllu_tags,
        ("tag", "columns"): _check_column_tags,
        ("dependency", "conllu"): _check_dependency,
        **ENTITY_CHECKS,
    }
)


def _conllu_sentence(block: Block, report: Report) -> conllu.Sentence | None:
    """The sentence, if its lines are in order."""
    before = report.problem_count
    block = block_without_space(block, report.add)
    words = parse(block, report.add)
    if report.problem_count > before:
        return None
    sentence = conllu.Sentence(block, words)
    report.counts["multiword tokens"] += len(sentence.multiword_tokens)
    report.counts["empty nodes"] += len(sentence.empty_nodes)
    return sentence


def _untagged(sentence: conllu.Sentence, column: str, position: int) -> Problem:
    word = sentence.words[position]
    message = f"word {word.id}, {word.form!r}, has no tag in the column {column.upper()}, perhaps others too"
    return Problem("tag", message, "fill in the column", sentence.path, word.line)


def _span_problems(sentence: columns.Sentence, tags: Sequence[str]) -> Iterable[Problem]:
    """Tags of the BIO scheme that continue a span which was not begun."""
    for position, tag in enumerate(tags):
        before = tags[position - 1] if position else "O"
        if tag.startswith("I-") and before not in (tag, f"B-{tag[2:]}"):
            message = f"{tag} follows {before}"
            remedy = f"begin the span with B-{tag[2:]}"
            yield Problem("span", message, remedy, sentence.path, sentence.line + position)
