"""The report of a check of a corpus, and code shared by all checks of CoNLL-U."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from strukt.data import conllu
from strukt.data.conllu import rules
from strukt.data.conllu.reading import block_without_space
from strukt.data.files import Source
from strukt.data.files.blocks import blocks
from strukt.data.files.problems import Problem
from strukt.data.sentence import Sentence


@dataclass
class Report:
    """The result of a check.

    Attributes:
        path: The path of the file.
        kept: Maximum number of problems of each kind to keep. A kind is a rule and whether problems are repaired.
        problems: The problems in the order of reading, at most `kept` of each kind. Missing tags of CoNLL-U, which
            depend on the whole file, come last.
        kinds: Number of problems of each kind, kept or not, by (rule, repaired).
        problem_count: Number of all problems, kept or not, except repaired ones.
        repair_count: Number of problems repaired by reading.
        sentences: Number of sentences without problems; missing tags of CoNLL-U do not count as problems here.
        words: Number of their words.
        longest: Number of words of the longest of these sentences; 0 if there are none.
        longest_line: The line on which this sentence begins; 0 if there is none.
        counts: Counts specific to the task and format, such as multiword tokens.
        labels: For each column name, the frequency of each label.

    `counts` and `labels` refer to the sentences without problems, too, except for CoNLL-U: multiword tokens and
    empty nodes are counted in all well-formed sentences, and so are the tags in the task "tag".

    Examples:
        >>> from strukt.data import conllu
        >>> from strukt.data.files.problems import Problem
        >>> report = Report("dev.conllu")
        >>> report.add(Problem("head", "word 2, 'works', has no head", "fill in the column HEAD", report.path, 2))
        >>> report.accepts(conllu.from_forms(["It", "works"]), [])
        True
        >>> report.problem_count, report.summary()
        (1, {'sentences': 1, 'words': 2, 'longest sentence': 2})
    """

    path: str
    kept: int = 1000
    problems: list[Problem] = field(default_factory=list)
    kinds: Counter[tuple[str, bool]] = field(default_factory=Counter)
    problem_count: int = 0
    repair_count: int = 0
    sentences: int = 0
    words: int = 0
    longest: int = 0
    longest_line: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    labels: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, problem: Problem) -> None:
        """Count a problem, and keep it unless `kept` problems of its kind have been kept."""
        self.repair_count += problem.repaired
        self.problem_count += not problem.repaired
        self.kinds[problem.kind] += 1
        if self.kinds[problem.kind] <= self.kept:
            self.problems.append(problem)

    def accepts(self, sentence: Sentence, problems: Iterable[Problem]) -> bool:
        """Add the problems of a sentence; count it and return True if it has none other than repaired ones."""
        before = self.problem_count
        for problem in problems:
            self.add(problem)
        if self.problem_count > before:
            return False
        self.count(sentence)
        return True

    def count(self, sentence: Sentence) -> None:
        """Count a sentence without problems."""
        self.sentences += 1
        self.words += len(sentence)
        if len(sentence) > self.longest:
            self.longest, self.longest_line = len(sentence), sentence.line

    def count_labels(self, column: str, labels: Iterable[str]) -> None:
        """Count the labels of a column."""
        self.labels.setdefault(column, Counter()).update(labels)

    def summary(self) -> dict[str, int]:
        """Return the numbers to print, by name.

        They are the numbers of sentences, of words, of words of the longest sentence, those of `counts`, and for
        each column the number of different labels.
        """
        sizes = {"sentences": self.sentences, "words": self.words, "longest sentence": self.longest}
        labels = {f"{column} labels": len(labels) for column, labels in self.labels.items()}
        return sizes | dict(self.counts) | labels


def read_conllu(source: Source, report: Report) -> Iterator[conllu.Sentence]:
    """Yield the well-formed sentences of CoNLL-U, and count their multiword tokens and empty nodes.

    All problems, including those repaired, are added to the report.

    Raises:
        DataError: If the file cannot be opened.
    """
    for raw in blocks(source, report.add):
        before = report.problem_count
        block = block_without_space(raw, report.add)
        words = rules.parse(block, report.add)
        if report.problem_count > before:
            continue
        sentence = conllu.Sentence(block, words)
        report.counts["multiword tokens"] += len(sentence.multiword_tokens)
        report.counts["empty nodes"] += len(sentence.empty_nodes)
        yield sentence
