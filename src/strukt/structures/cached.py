"""Caching of a distribution's results while neither its inputs nor the results change."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from torch import Tensor

from strukt.kernels.autograd import as_tuple, asks_for_gradient, is_plain

Result = TypeVar("Result", Tensor, tuple[Tensor, ...])


def cached(method: Callable[[Any], Result]) -> Callable[[Any], Result]:
    """Decorate a method without arguments so that its result is cached.

    The result is cached on the object. It is computed anew if it requires a gradient, under ``torch.func`` and
    ``torch.compile``, if the inputs or the result are tensors of inference mode, and after the inputs or the
    result were changed in place. The inputs are the object's scores, lengths and constants.
    """
    name = method.__name__

    @functools.wraps(method)
    def cached_method(self: Any) -> Result:
        if asks_for_gradient(self.scores) or not is_plain():
            return method(self)
        inputs = (*self.scores, self.lengths, *self.constants)
        if any(tensor.is_inference() for tensor in inputs):  # has no version counter
            return method(self)
        results = self.__dict__.setdefault("_results", {})
        result, versions = results.get(name, (None, None))
        if result is None or versions != _versions(inputs, as_tuple(result)):
            result = method(self)
            if not any(tensor.is_inference() for tensor in as_tuple(result)):
                results[name] = result, _versions(inputs, as_tuple(result))
        return result  # type: ignore[no-any-return]

    return cached_method


def _versions(*tensors: Iterable[Tensor]) -> list[int]:
    """Return the version counters of groups of tensors; PyTorch counts the in-place changes of a tensor."""
    return [tensor._version for some in tensors for tensor in some]
