"""Answers of a distribution that are computed once, as long as nobody can tell."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from torch import Tensor

from strukt.kernels.autograd import as_tuple, asks_for_gradient, is_plain

Answer = TypeVar("Answer", Tensor, tuple[Tensor, ...])


def kept(question: Callable[[Any], Answer]) -> Callable[[Any], Answer]:
    """Let a method of a structure without arguments compute its answer once.

    It is computed at every call where a gradient may be asked for, under ``torch.func`` and ``torch.compile``, in
    inference mode, and when the scores or the answer were changed in place since.
    """
    name = question.__name__

    @functools.wraps(question)
    def answer(self: Any) -> Answer:
        if asks_for_gradient(self.scores) or not is_plain():
            return question(self)
        given = (*self.scores, self.lengths, *self.constants)
        if any(tensor.is_inference() for tensor in given):  # has no count of changes
            return question(self)
        answers = self.__dict__.setdefault("_answers", {})
        result, versions = answers.get(name, (None, None))
        if result is None or versions != _versions(given, as_tuple(result)):
            result = question(self)
            if not any(tensor.is_inference() for tensor in as_tuple(result)):
                answers[name] = result, _versions(given, as_tuple(result))
        return result  # type: ignore[no-any-return]

    return answer


def _versions(*tensors: Iterable[Tensor]) -> list[int]:
    """Count the changes in place of each tensor."""
    return [tensor._version for some in tensors for tensor in some]
