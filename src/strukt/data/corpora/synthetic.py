"""Synthetic corpora whose answers follow from the words: numbers to sort, and bits in which to count chunks."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from strukt.data.files.problems import Problem
from strukt.data.sentence import Sentence

DIGITS = 18
"""Maximum number of digits of a number in a sentence."""

_NUMBER = re.compile(rf"[0-9]{{1,{DIGITS}}}")


def numbers(sentence: Sentence, largest: int | None = None) -> list[int]:
    """Parse the words of a sentence as whole numbers from 0 up.

    Args:
        sentence: The sentence.
        largest: The largest number allowed; any if None.

    Raises:
        DataError: If a word is not a whole number of up to `DIGITS` digits, or the number exceeds `largest`.

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
    """Return a problem for the first word that `numbers` would reject; None if it accepts all of them."""
    for form in sentence.forms:
        if not _NUMBER.fullmatch(form) or (largest is not None and int(form) > largest):
            expected = (
                f"whole number of up to {DIGITS} digits" if largest is None else f"number from 0 to {largest}"
            )
            message, remedy = f"{form!r} is not a {expected}", "write numbers separated by spaces"
            return Problem("number", message, remedy, sentence.path, sentence.line)
    return None


def chunks(bits: Sequence[int]) -> int:
    """Return the number of maximal runs of ones.

    Examples:
        >>> chunks([0, 0, 1, 0, 0, 1, 0, 1, 1, 1])
        3
    """
    return sum(before < after for before, after in pairwise([0, *bits]))


def sequences(number: int, shortest: int, longest: int, largest: int, seed: int) -> Iterator[list[int]]:
    """Yield random sequences; lengths and numbers are uniformly distributed.

    Args:
        number: Number of sequences.
        shortest: Minimum length.
        longest: Maximum length.
        largest: The largest number in them; the smallest is 0.
        seed: Seed of the random numbers; it gives the same sequences on every machine.

    Raises:
        ValueError: If `shortest` exceeds `longest`, or `largest` is negative.

    Examples:
        >>> [len(sequence) for sequence in sequences(3, shortest=2, longest=2, largest=9, seed=1)]
        [2, 2, 2]
    """
    generator = random.Random(seed)
    for _ in range(number):
        length = generator.randint(shortest, longest)
        yield [generator.randint(0, largest) for _ in range(length)]
