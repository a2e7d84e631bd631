"""Conversion of sequences of dictionaries, lists of names or vectors to a matrix with a row for each token."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from strukt.kernels.arrays import Array

ITEM = "a dict of names and values (float, bool, str, or a list, set or dict), a list of names, or a vector"


class Labelled(NamedTuple):
    """Sequences with their labels.

    Attributes:
        tokens: `(tokens, attributes)`; the value of each attribute, sparse or dense, one sequence after another.
        lengths: `(sequences,)`; the number of tokens of each sequence.
        labels: `(tokens,)`; the index of the label of each token.
    """

    tokens: Any
    lengths: Array
    labels: Array

    @property
    def pairs(self) -> tuple[Array, Array]:
        """The label pairs of neighbouring tokens within sequences: all first labels, and all second labels."""
        inside = np.ones(len(self.labels), np.bool_)
        ends = np.cumsum(self.lengths)
        inside[ends[self.lengths > 0] - 1] = False
        (first,) = np.nonzero(inside)
        return self.labels[first], self.labels[first + 1]


class Rows(NamedTuple):
    """Sequences without labels: `tokens` `(tokens, attributes)`, sparse or dense, and `lengths` `(sequences,)`."""

    tokens: Any
    lengths: Array


def as_sequences(name: str, argument: Any) -> list[Any]:
    """Return an argument as a list of sequences, each a list or an array.

    Raises:
        ValueError: If the argument is not a collection of sequences.
    """
    if isinstance(argument, (str, bytes, Mapping)) or not isinstance(argument, Iterable):
        raise ValueError(f"{name} is of type {type(argument).__name__}; expected a list of sequences")
    sequences = [np.asarray(one) if hasattr(one, "__array__") else one for one in argument]
    for number, sequence in enumerate(sequences):
        if isinstance(sequence, (str, bytes, Mapping)) or not isinstance(sequence, (Sequence, np.ndarray)):
            raise ValueError(
                f"{name}[{number}] is of type {type(sequence).__name__}; expected a sequence, such as a "
                "list with one entry for each token"
            )
    return sequences


def are_vectors(sequences: Iterable[Any]) -> bool:
    """Return True if the first token is a vector of numbers; False if there are no tokens.

    Raises:
        ValueError: If the first token is a number, as in a single sequence in place of a list of sequences.
    """
    for number, sequence in enumerate(sequences):
        for item in sequence:
            if isinstance(item, Real):
                raise ValueError(f"X[{number}][0] is a number; expected {ITEM}; pass [X] if X is one sequence")
            if isinstance(item, np.ndarray):
                return item.dtype != object and item.dtype.kind not in "US"
            return isinstance(item, (list, tuple)) and bool(item) and isinstance(item[0], Real)
    return False


def vectors(sequences: Sequence[Any], size: int | None) -> Rows:
    """Stack sequences of vectors, `(n, d)` each.

    Args:
        sequences: Arrays or lists of lists of numbers.
        size: The expected d; if None, the size of the first vector.

    Raises:
        ValueError: If a sequence is not an array of finite numbers with d columns.
    """
    rows, lengths = [], np.array([len(sequence) for sequence in sequences], np.int64)
    for number, sequence in enumerate(sequences):
        if not len(sequence):
            continue
        row = _numbers(number, sequence)
        size = row.shape[-1] if size is None and row.ndim == 2 else size
        if row.ndim != 2 or row.shape[1] != size:
            raise ValueError(
                f"X[{number}] has shape {row.shape}; expected (n, {'d' if size is None else size})"
            )
        if not np.isfinite(row).all():
            raise ValueError(f"X[{number}] contains NaN or infinity; expected finite numbers")
        rows.append(row)
    return Rows(np.concatenate(rows) if rows else np.zeros((0, size or 0)), lengths)


def _numbers(number: int, sequence: Any) -> Array:
    """Return a sequence of vectors as an array in float64; raise ValueError if that is impossible."""
    try:
        return np.asarray(sequence, np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"X[{number}] is not an array of numbers ({error}); expected shape (n, d)") from None


def attributes(sequences: Sequence[Any], columns: dict[str, int], grow: bool) -> Rows:
    """Convert sequences of dictionaries or lists of names to a sparse matrix; zeros are stored explicitly.

    Args:
        sequences: The attributes of each token.
        columns: The column of each attribute.
        grow: Whether to add new attributes to `columns`; otherwise, they are ignored.

    Raises:
        ValueError: If a token or a value has an unknown type, or if a value is not finite.
    """
    names: list[str] = []
    values: list[float] = []
    indptr = [0]
    for number, sequence in enumerate(sequences):
        for place, item in enumerate(sequence):
            try:
                _read(item, "", names.append, values.append)
            except TypeError as error:
                raise ValueError(f"X[{number}][{place}] {error}; expected {ITEM}") from None
            except OverflowError as error:
                raise ValueError(f"X[{number}][{place}] has a value beyond those of floats ({error})") from None
            indptr.append(len(names))
    find: Callable[[str], int] = (
        (lambda name: columns.setdefault(name, len(columns))) if grow else lambda name: columns.get(name, -1)
    )
    indices, data = np.fromiter(map(find, names), np.int32, len(names)), np.array(values)
    if not np.isfinite(data).all():
        bad = int(np.flatnonzero(~np.isfinite(data))[0])
        token, ends = bisect(indptr, bad) - 1, np.cumsum([len(sequence) for sequence in sequences])
        number = int(np.searchsorted(ends, token, "right"))
        place = token - ends[number] + len(sequences[number])
        value = f"the value {data[bad]} for {names[bad]!r}"
        raise ValueError(f"X[{number}][{place}] has {value}; expected a finite number")
    known = indices >= 0
    kept = np.concatenate([[0], np.cumsum(known)])[indptr]
    matrix = csr_array((data[known], indices[known], kept), shape=(len(kept) - 1, len(columns)))
    return Rows(matrix, np.array([len(sequence) for sequence in sequences], np.int64))


def _read(item: Any, prefix: str, name: Callable[[str], None], number: Callable[[float], None]) -> None:
    """Pass the name and value of each attribute of a token to `name` and `number`, with python-crfsuite's names.

    These are `name:text` for a string as value, and `prefix:name` for nested attributes.
    """
    if isinstance(item, Mapping):
        for key, value in item.items():
            if not isinstance(key, str):
                raise TypeError(f"has a name of type {type(key).__name__}")
            if isinstance(value, str):
                name(f"{prefix}{key}:{value}")
                number(1.0)
            elif isinstance(value, (Real, np.bool_)):
                name(prefix + key)
                number(float(value))
            elif isinstance(value, (Mapping, list, tuple, set, frozenset)):
                _read(value, f"{prefix}{key}:", name, number)
            else:
                raise TypeError(f"has a value of type {type(value).__name__} for {prefix + key!r}")
    elif isinstance(item, (list, tuple, set, frozenset, np.ndarray)):
        for key in item:
            if not isinstance(key, str):
                raise TypeError(f"has a name of type {type(key).__name__}")
            name(prefix + key)
            number(1.0)
    else:
        raise TypeError(f"is of type {type(item).__name__}")


def numbered(y: Any, lengths: Array, classes: Sequence[Any] | None) -> tuple[list[Any], Array]:
    """Convert labels to indices of classes.

    Args:
        y: The labels of each sequence.
        lengths: The number of tokens of each sequence of X.
        classes: The possible labels; if None, the distinct labels of y, sorted.

    Returns:
        The classes, and the index of the label of each token.

    Raises:
        ValueError: If the numbers of labels and tokens differ, if a label is not one of the classes or NaN, or
            if labels are not all strings or all numbers.
    """
    sequences = [one.tolist() if isinstance(one, np.ndarray) else one for one in as_sequences("y", y)]
    if len(sequences) != len(lengths):
        raise ValueError(f"y has {len(sequences)} sequences and X has {len(lengths)}; expected the same number")
    for number, (sequence, length) in enumerate(zip(sequences, lengths, strict=True)):
        if len(sequence) != length:
            raise ValueError(
                f"y[{number}] has {len(sequence)} labels and X[{number}] has {length} tokens; expected one label "
                "for each token"
            )
    flat = [label for sequence in sequences for label in sequence]
    names = distinct("y", flat) if classes is None else list(classes)
    numbers = {label: number for number, label in enumerate(names)}
    try:
        return names, np.array([numbers[label] for label in flat], np.int64)
    except (KeyError, TypeError):
        unknown = next(label for label in flat if label not in names)
        raise ValueError(f"y has the label {unknown!r}; expected one of {classes}") from None


def distinct(name: str, labels: Iterable[Any]) -> list[Any]:
    """Return the distinct labels, sorted, as Python strings or numbers, which a saved model can hold.

    Args:
        name: The name of the argument with the labels, for error messages.
        labels: Labels, possibly NumPy scalars.

    Raises:
        ValueError: If the labels are not a list, not all strings or all numbers, or if a label is NaN.
    """
    if isinstance(labels, (str, bytes)) or not isinstance(labels, Iterable):
        raise ValueError(f"{name} is {labels!r}; expected a list of labels")
    plain = [label.item() if isinstance(label, np.generic) else label for label in labels]
    for kind in (str, Real):
        if all(isinstance(label, kind) for label in plain):
            break
    else:
        kinds = sorted({type(label).__name__ for label in plain})
        raise ValueError(f"{name} has labels of type {', '.join(kinds)}; expected all strings or all numbers")
    if any(label != label for label in plain):
        raise ValueError(f"{name} has the label NaN; expected numbers")
    return sorted(set(plain))
