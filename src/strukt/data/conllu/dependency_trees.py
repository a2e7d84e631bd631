"""Checks of dependency trees in the column HEAD: missing heads, several roots, cycles, crossing arcs.

`heads[m]` is the head of word m + 1, and 0 is the root.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from strukt.data.conllu.reading import Sentence, no_head
from strukt.data.files.problems import Problem
from strukt.data.sentence import UNANNOTATED


def find_cycle(heads: Sequence[int]) -> list[int]:
    """Return the words of one cycle, in the order of following the heads; empty if there is no cycle.

    Complexity: O(n) for n words.

    Examples:
        >>> find_cycle([2, 3, 1, 0]), find_cycle([2, 0])
        ([1, 2, 3], [])
    """
    reached_by = [0] * (len(heads) + 1)  # for each word the start from which it was first reached, or 0
    for start in range(1, len(heads) + 1):
        word = start
        while word and not reached_by[word]:
            reached_by[word] = start
            word = heads[word - 1]
        if word and reached_by[word] == start:
            cycle = [word]
            while heads[cycle[-1] - 1] != word:
                cycle.append(heads[cycle[-1] - 1])
            return cycle
    return []


def is_projective(heads: Sequence[int]) -> bool:
    """Return True if no two arcs of a tree cross, including the arc from the root, which comes before word 1.

    Arcs are visited from left to right, with a stack of open arcs; in a projective tree they close in the reverse
    order of opening.

    Complexity: O(n log n) for n words.

    Examples:
        >>> is_projective([2, 0, 2]), is_projective([3, 0, 2, 1])
        (True, False)
    """
    arcs = sorted((min(word, head), -max(word, head)) for word, head in enumerate(heads, 1))
    open_ends: list[int] = []
    for left, negative_right in arcs:
        while open_ends and open_ends[-1] <= left:
            open_ends.pop()
        if open_ends and -negative_right > open_ends[-1]:
            return False
        open_ends.append(-negative_right)
    return True


def require_tree(sentence: Sentence) -> Sentence:
    """Return the sentence unchanged if its heads form a single-rooted tree and every word has a relation.

    Raises:
        DataError: If they do not, or there are no words. The error names the line of the first word concerned.

    Examples:
        >>> from strukt.data.conllu import from_forms
        >>> require_tree(from_forms(["It", "works"]).annotated(head=[2, 1], deprel=["nsubj", "root"]))
        Traceback (most recent call last):
        strukt.errors.DataError: 1: no word has head 0; give one word HEAD 0
    """
    for problem in tree_problems(sentence):
        raise problem.error()
    return sentence


def no_words(sentence: Sentence) -> Problem:
    r"""Return the problem to report if a sentence has empty nodes and no words.

    Args:
        sentence: The sentence, to name its file and line.

    Examples:
        >>> import io
        >>> from strukt.data import conllu
        >>> [sentence] = conllu.read(io.BytesIO(b"0.1" + b"\t_" * 9 + b"\n\n"))
        >>> no_words(sentence).message
        'the sentence has empty nodes and no words'
    """
    message = "the sentence has empty nodes and no words"
    return Problem("no-words", message, "write its words, or delete it", sentence.path, sentence.line)


def tree_problems(sentence: Sentence) -> Iterator[Problem]:
    """Yield the problems that keep a sentence from being a single-rooted dependency tree with labelled arcs.

    They are a lack of words, and words without a head or a relation; if every word has a head, also a missing
    root, further roots, and the first cycle.

    Args:
        sentence: The sentence to check.

    Complexity: O(n) for n words.

    Examples:
        >>> from strukt.data import conllu
        >>> sentence = conllu.from_forms(["It", "works"]).annotated(head=[0, 0], deprel=["nsubj", "_"])
        >>> [problem.message for problem in tree_problems(sentence)]
        ["word 2, 'works', has no relation", 'word 2 has head 0, as has word 1']
    """
    if not sentence.words:
        yield no_words(sentence)
        return
    for word in sentence.words:
        if word.head is None:
            yield no_head(sentence, word)
        if word.deprel == UNANNOTATED:
            message = f"word {word.id}, {word.form!r}, has no relation"
            remedy = "fill in the column DEPREL, or train with --partial"
            yield Problem("deprel", message, remedy, sentence.path, word.line)
    heads = [-1 if word.head is None else word.head for word in sentence.words]
    if -1 in heads:
        return
    if 0 not in heads:
        line = sentence.words[0].line
        yield Problem("root", "no word has head 0", "give one word HEAD 0", sentence.path, line)
    yield from _root_problems(sentence)
    yield from _cycle_problems(sentence, heads)


def partial_tree_problems(sentence: Sentence) -> Iterator[Problem]:
    """Yield the problems that keep partly annotated heads from being completed to a single-rooted tree.

    They are a lack of words, words with a relation and no head, further roots, a cycle, and forbidden parts that
    the file describes wrongly.

    Examples:
        >>> from strukt.data import conllu
        >>> sentence = conllu.from_forms(["It", "works", "well"]).annotated(head=[2, 1, "_"])
        >>> [problem.message for problem in partial_tree_problems(sentence)]
        ['the heads form a cycle: 1 -> 2 -> 1']
    """
    if not sentence.words:
        yield no_words(sentence)
        return
    for word in sentence.words:
        if word.head is None and word.deprel != UNANNOTATED:
            message = f"word {word.id}, {word.form!r}, has a relation and no head"
            yield Problem(
                "head", message, "fill in the column HEAD, or write _ in both", sentence.path, word.line
            )
    yield from _root_problems(sentence)
    yield from _cycle_problems(sentence, [word.head or 0 for word in sentence.words])
    yield from sentence.forbidden_problems()


def _root_problems(sentence: Sentence) -> Iterator[Problem]:
    """Yield a problem for each word with head 0 after the first one."""
    roots = [word for word in sentence.words if word.head == 0]
    for word in roots[1:]:
        message = f"word {word.id} has head 0, as has word {roots[0].id}"
        yield Problem("root", message, "a sentence has exactly one root", sentence.path, word.line)


def _cycle_problems(sentence: Sentence, heads: Sequence[int]) -> Iterator[Problem]:
    """Yield a problem if the heads contain a cycle; a word whose head is unknown counts as a root here."""
    if cycle := find_cycle(heads):
        shown = " -> ".join(str(word) for word in cycle[:10])
        message = f"the heads form a cycle: {shown} -> {cycle[0] if len(cycle) <= 10 else '...'}"
        line = sentence.words[cycle[0] - 1].line
        yield Problem("cycle", message, "correct one of them", sentence.path, line)
