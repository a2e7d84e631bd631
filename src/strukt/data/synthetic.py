"""Corpora whose answers follow from their words: numbers to be sorted, zeros and ones whose chunks are counted."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from strukt.data.problems import Problem
from strukt.data.sentence import Sentence

DIGITS = 18
"""The most of a number."""

_NUMBER = re.compile(rf"[0-9]{{1,{DIGITS}}}")


def numbers(sentence: Sentence, largest: int | None = None) -> list[int]:
    """The words of a sentence as whole numbers from 0 on.

    Args:
        sentence: The sentence.
        largest: The largest number that may be; any if None.

    Raises:
        DataError: A word is none.

    Examples:
        >>> from strukt.data import conllu
        >>> numbers(conllu.from_forms(["10", "2", "007"]))
        [10, 2, 7]
    """
    problem = number_problem(sentence, largest)
    if problem is not None:
        raise problem.error()
    return [int(form) for form in sentence.forms]


def number_problem(sentence: Sentence, largest: int | None = None) -> Problem | None:
    """What keeps a sentence from being `numbers`, if anything does."""
    for form in sentence.forms:
        if not _NUMBER.fullmatch(form) or (largest is not None and int(form) > largest):
            expected = (
                f"whole number of up to {DIGITS} digits" if largest is None else f"number from 0 to {largest}"
            )
            message, remedy = f"{form!r} is no {expected}", "write numbers separated by spaces"
            return Problem("number", message, remedy, sentence.path, sentence.line)
    return None


def chunks(bits: Sequence[int]) -> int:
    """The number of runs of ones.

    Examples:
        >>> chunks([0, 0, 1, 0, 0, 1, 0, 1, 1, 1])
        3
    """
    return sum(before < after for before, after in pairwise([0, *bits]))


def sequences(number: int, shortest: int, longest: int, largest: int, seed: int) -> Iterator[list[int]]:
    """Random sequences, every length as probable as any other, and every number.

    Args:
        number: How many.
        shortest: The smallest length.
        longest: The largest length.
        largest: The largest number in them; the smallest is 0.
        seed: Decides them, on every machine.

    Examples:
        >>> [len(sequence) for sequence in sequences(3, shortest=2, longest=2, largest=9, seed=1)]
        [2, 2, 2]
    """
    generator = random.Random(seed)
    for _ in range(number):
        length = generator.randint(shortest, longest)
        yield [generator.randint(0, largest) for _ in range(length)]
