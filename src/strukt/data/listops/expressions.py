"""ListOps expressions such as `[MAX 2 9 [MIN 4 7 ] 0 ]`: dependency trees, values, and random generation."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

CLOSE = "]"
"""The symbol that closes the arguments of an operator."""

DIGITS = tuple("0123456789")

OPERATORS: Mapping[str, Callable[[Sequence[int]], int]] = MappingProxyType(
    {
        "[MIN": min,
        "[MAX": max,
        "[MED": lambda values: _median(values),
        "[SM": lambda values: sum(values) % 10,
        "[FIRST": lambda values: values[0],
        "[LAST": lambda values: values[-1],
    }
)
"""The operators of ListOps, as functions of digits: the median of an even number of digits is rounded down, and
sums are modulo 10."""

SYMBOLS = (*OPERATORS, *DIGITS, CLOSE)
"""All symbols of expressions."""

_NESTING = 0.25
"""Probability that an argument of a random expression is an operator."""

_PATIENCE = 10_000
"""The number of random expressions in a row that may be too long or already known before the search ends."""


@dataclass(frozen=True)
class Expression:
    """A parsed expression.

    Attributes:
        symbols: Operators, digits and closing brackets.
        heads: The head of each symbol, counted from 1; 0 for the first symbol, the root. An operator is the head
            of its arguments (digits and operators) and of the bracket that closes them (Corro and Titov 2019,
            "Learning latent trees with stochastic perturbations and differentiable dynamic programming").
        arities: The number of arguments of each operator, in order.
        value: The digit that the expression evaluates to.

    Examples:
        >>> from strukt.data.listops.expressions import parse
        >>> parse("[MAX 2 9 ]")
        Expression(symbols=['[MAX', '2', '9', ']'], heads=[0, 1, 1, 1], arities=[2], value=9)
    """

    symbols: list[str]
    heads: list[int]
    arities: list[int]
    value: int


def parse(text: str) -> Expression:
    """Parse an expression.

    Args:
        text: Symbols separated by white space. Round brackets are ignored: in ListOps they binarise the arguments
            of an operator, which adds no information.

    Raises:
        ValueError: If the text is not an expression.

    Examples:
        >>> result = parse("[MAX 2 9 [MIN 4 7 ] 0 ]")
        >>> result.heads, result.arities, result.value
        ([0, 1, 1, 1, 4, 4, 4, 1, 1], [4, 2], 9)
        >>> parse("( ( ( ( ( [SM 6 ) 5 ) 9 ) 0 ) ] )").symbols
        ['[SM', '6', '5', '9', '0', ']']
    """
    symbols = _without_round_brackets(text.split())
    heads: list[int] = []
    open_operators: list[int] = []
    operands: list[list[int]] = [[]]
    arities: dict[int, int] = {}
    for place, symbol in enumerate(symbols, start=1):
        if heads and not open_operators:
            raise ValueError(f"{symbol!r} follows the end of the expression")
        heads.append(open_operators[-1] if open_operators else 0)
        if symbol in OPERATORS:
            open_operators.append(place)
            operands.append([])
        elif symbol in DIGITS:
            operands[-1].append(int(symbol))
        elif symbol != CLOSE:
            raise ValueError(f"{symbol!r} is not a digit, {CLOSE} or one of {', '.join(OPERATORS)}")
        elif not open_operators:
            raise ValueError(f"{CLOSE} closes no operator")
        else:
            operator, values = open_operators.pop(), operands.pop()
            if not values:
                raise ValueError(f"{symbols[operator - 1]} has no arguments")
            arities[operator] = len(values)
            operands[-1].append(OPERATORS[symbols[operator - 1]](values))
    if open_operators:
        raise ValueError(f"{symbols[open_operators[-1] - 1]} is not closed by {CLOSE}")
    if not symbols:
        raise ValueError("there is no expression")
    return Expression(symbols, heads, [arities[place] for place in sorted(arities)], operands[0][0])


def expressions(
    number: int, operators: Sequence[str], arguments: int, depth: int, longest: int, seed: int
) -> Iterator[str]:
    """Yield distinct random expressions; none is a single digit.

    An argument is an operator with probability 1/4, up to the maximum depth, and otherwise a digit; an
    operator has from 2 to `arguments` arguments.

    Source: Nangia and Bowman (2018), "ListOps: A Diagnostic Dataset for Latent Tree Learning".

    Args:
        number: Number of expressions.
        operators: A subset of the keys of `OPERATORS`, not empty.
        arguments: Maximum number of arguments of an operator, at least 2.
        depth: Maximum nesting depth of operators; 1 for a single operator.
        longest: Maximum number of symbols.
        seed: Seed of the random numbers; it gives the same expressions on every machine.

    Raises:
        ValueError: If `arguments` is below 2; or, after yielding those that were found, if 10,000 random
            expressions in a row are too long or were yielded before.

    Examples:
        >>> list(expressions(2, ["[MIN", "[MAX"], arguments=3, depth=2, longest=9, seed=1))
        ['[MIN 7 7 ]', '[MAX [MIN 6 9 0 ] 4 ]']
    """
    generator, seen, misses = random.Random(seed), set[str](), 0
    while len(seen) < number:
        symbols = _random(generator, operators, arguments, depth)
        text = " ".join(symbols)
        if len(symbols) > longest or text in seen:
            misses += 1
            if misses > _PATIENCE:
                raise ValueError(
                    f"found {len(seen)} different expressions of up to {longest} symbols, and then none in "
                    f"{_PATIENCE:,}; request fewer, or longer ones"
                )
            continue
        misses = 0
        seen.add(text)
        yield text


def _random(generator: random.Random, operators: Sequence[str], arguments: int, depth: int) -> list[str]:
    """Return the symbols of a random operator and its arguments."""
    symbols = [generator.choice(operators)]
    missing = [generator.randint(2, arguments)]  # missing arguments of each open operator
    while missing:
        if not missing[-1]:
            missing.pop()
            symbols.append(CLOSE)
            continue
        missing[-1] -= 1
        if len(missing) < depth and generator.random() < _NESTING:
            symbols.append(generator.choice(operators))
            missing.append(generator.randint(2, arguments))
        else:
            symbols.append(generator.choice(DIGITS))
    return symbols


def _without_round_brackets(tokens: Sequence[str]) -> list[str]:
    """Return the symbols without round brackets.

    Raises:
        ValueError: If the round brackets do not match.
    """
    depth = 0
    for token in tokens:
        depth += (token == "(") - (token == ")")
        if depth < 0:
            raise ValueError("there is a ) without its (")
    if depth:
        raise ValueError("there is a ( without its )")
    return [token for token in tokens if token not in ("(", ")")]


def _median(values: Sequence[int]) -> int:
    """Return the median; for an even number of values, the mean of the middle two, rounded down."""
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) // 2
