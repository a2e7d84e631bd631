"""Checks of the inputs of layers: sizes in the constructor; vectors, lengths and words in calls."""

from __future__ import annotations

import torch
from torch import Tensor

from strukt.checks import arguments, guards
from strukt.checks.lengths import Lengths


def require_sizes(**sizes: int) -> None:
    """Check that sizes and counts are whole numbers above 0.

    Raises:
        ValueError: If a size is not; the message contains the name of its keyword argument.

    Examples:
        >>> require_sizes(inputs=8, hidden=0)
        Traceback (most recent call last):
        ValueError: hidden is 0; expected at least 1
    """
    for name, size in sizes.items():
        if not arguments.is_integer(size):
            raise ValueError(f"{name} is {size!r}; expected a whole number above 0")
        if size < 1:
            raise ValueError(f"{name} is {size}; expected at least 1")


def require_vectors(name: str, vectors: Tensor, size: int) -> None:
    """Check that vectors have the shape ``(batch, n, size)`` and a floating-point type.

    Args:
        name: The name of the vectors in error messages.
        vectors: The vectors to check.
        size: The expected size of each vector.

    Raises:
        ValueError: If the shape or the type is wrong.
    """
    axes = f"(batch, n, {size})"
    arguments.scores(name, vectors, axes, 3)
    if vectors.dim() != 3 or vectors.shape[2] != size:
        raise ValueError(f"{name} has shape {tuple(vectors.shape)}; expected {axes}")


def lengths_of(name: str, vectors: Tensor, size: int, lengths: Lengths | None) -> Tensor:
    """Check vectors ``(batch, n, size)`` and lengths; return the lengths ``(batch,)``, all n if None.

    The argument `name` is the name of the vectors in error messages.

    Raises:
        ValueError: If a shape or a type is wrong, or a length is not between 0 and n.
    """
    require_vectors(name, vectors, size)
    return arguments.lengths(lengths, vectors.shape[:1], vectors.shape[1], vectors.device)


def lengths_of_symbols(name: str, symbols: Tensor, lengths: Lengths | None, count: int) -> Tensor:
    """Check that indices outside the padding are from 0 to ``count - 1``; return the lengths.

    Args:
        name: The name of the indices in error messages.
        symbols: The indices, ``(batch, n)``.
        lengths: ``(batch,)``; all n if None.
        count: The size of the vocabulary.

    Returns:
        The lengths, ``(batch,)``, on the device of the indices.

    Raises:
        ValueError: If a shape or a type is wrong, a length is not between 0 and n, or an index is out of range.
    """
    arguments.integers(name, symbols, "(batch, n)", symbols.device)
    if symbols.dim() != 2:
        raise ValueError(f"{name} has shape {tuple(symbols.shape)}; expected (batch, n)")
    result = arguments.lengths(lengths, symbols.shape[:1], symbols.shape[1], symbols.device)
    padding = torch.arange(symbols.shape[1], device=symbols.device) >= result.unsqueeze(1)
    known = (symbols >= 0) & (symbols < count)
    expected = f"indices from 0 to {count - 1}, as the vocabulary has {count} entries"
    guards.require_values(symbols, padding | known, name, expected)
    return result


def require_same_batch(**tensors: Tensor) -> None:
    """Check that one or more tensors with a leading batch axis have the same batch size.

    Raises:
        ValueError: If a batch size differs from that of the first tensor.
    """
    (first, one), *others = tensors.items()
    for name, tensor in others:
        if tensor.shape[0] != one.shape[0]:
            raise ValueError(
                f"{name} has shape {tuple(tensor.shape)} and {first} {tuple(one.shape)}; expected the same batch"
            )


def precise(values: Tensor) -> Tensor:
    """Convert values to the dtype for computing structures: float64 is unchanged, all others become float32.

    Examples:
        >>> precise(torch.zeros(1, dtype=torch.bfloat16)).dtype, precise(torch.zeros(1).double()).dtype
        (torch.float32, torch.float64)
    """
    return values if values.dtype == torch.float64 else values.float()


def log_counts(counts: Tensor, bias: Tensor) -> Tensor:
    """Return log(counts + 1) for counts ``(v,)`` of words, in the dtype and on the device of ``bias``, ``(v,)``.

    Raises:
        ValueError: If `counts` does not have one finite entry of 0 or more for each word.
    """
    if counts.shape != bias.shape:
        raise ValueError(f"counts has shape {tuple(counts.shape)}; expected {tuple(bias.shape)}")
    guards.require_values(counts, (counts >= 0) & counts.isfinite(), "counts", "finite numbers of 0 or more", 0)
    return (counts + 1).to(bias).log()


def require_lists_of_words(name: str, sentences: list[list[str]]) -> None:
    """Check that sentences are lists of words, not strings, whose letters would be read as words.

    Raises:
        ValueError: If a sentence is a string, or ``sentences`` itself is one.

    Examples:
        >>> require_lists_of_words("sentences", ["Dogs bark"])
        Traceback (most recent call last):
        ValueError: sentences holds the string 'Dogs bark'; expected a list of words, such as ['Dogs', 'bark']
    """
    for words in [sentences] if isinstance(sentences, str) else sentences:
        if isinstance(words, str):
            expected = f"expected a list of words, such as {words.split()}"
            raise ValueError(f"{name} holds the string {words!r}; {expected}")
