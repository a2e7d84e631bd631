"""What a check of a corpus has found, and what all checks of CoNLL-U have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from strukt.data import conllu, conllu_rules
from strukt.data.blocks import blocks
from strukt.data.files import Source
from strukt.data.problems import Problem
from strukt.data.sentence import Sentence


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


def read_conllu(source: Source, report: Report) -> Iterator[conllu.Sentence]:
    """The CoNLL-U sentences whose lines are in order; the problems of all others go to the report."""
    for found in blocks(source, report.add):
        before = report.problem_count
        block = conllu.block_without_space(found, report.add)
        words = conllu_rules.parse(block, report.add)
        if report.problem_count > before:
            continue
        sentence = conllu.Sentence(block, words)
        report.counts["multiword tokens"] += len(sentence.multiword_tokens)
        report.counts["empty nodes"] += len(sentence.empty_nodes)
        yield sentence
