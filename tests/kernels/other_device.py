"""A device like a GPU without kernels, on the CPU: its tensors mix with no others, and its operations are counted.

Run as `python -m tests.kernels.other_device NAME [QUESTION ...]`: asks these questions about the named subject, or
all, checks the answers against the reference on the CPU, and prints a line of JSON for each: the question, and
the numbers of operations on the device for the answer and its gradient, for items of a length and of twice that.
"""

import json
import sys
import warnings
from dataclasses import replace

import torch
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from strukt.kernels.autograd import as_tuple
from strukt.kernels.dispatch import using
from strukt.kernels.operator import body_of
from strukt.testing.operators import operators, random_arguments, rival
from strukt.testing.subjects import STRUCTURES

NAME = "other"
MIXING = {"aten::copy_", "aten::_to_copy", "aten::index", "aten::index_put_", "aten::_index_put_impl_"}
"""Operations that also take tensors of the CPU beside those of a GPU."""

operations = 0


class There(torch.Tensor):
    """A tensor on the device, around one on the CPU that holds its numbers."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, numbers):
        strides, offset = numbers.stride(), numbers.storage_offset()
        there = torch.Tensor._make_wrapper_subclass(
            cls,
            numbers.shape,
            strides=strides,
            storage_offset=offset,
            dtype=numbers.dtype,
            device=f"{NAME}:0",
        )
        there.numbers = numbers
        return there

    @classmethod
    def __torch_dispatch__(cls, operation, types, arguments=(), options=None):
        if operation.namespace == "strukt":
            return body_of(operation)(*arguments)
        return computed(operation, *arguments, **options or {})

    def numpy(self):
        raise TypeError("can't convert a tensor of another device to numpy")


def computed(operation, *arguments, **options):
    """Run an operation of PyTorch on the numbers of tensors, and wrap its results."""
    global operations
    operations += 1
    name, given = operation._schema.name, tree_leaves((arguments, options))
    mixed = any(
        isinstance(each, torch.Tensor) and not isinstance(each, There) and each.dim() for each in given
    )
    if mixed and name not in MIXING:
        raise RuntimeError(f"{name}: expected all tensors to be on the same device")
    wanted = options.get("device") or f"{NAME}:0"
    options = {
        key: "cpu" if key == "device" else value for key, value in options.items() if key != "pin_memory"
    }
    with torch.no_grad():
        result = operation(*tree_map(_numbers, arguments), **tree_map(_numbers, options))
    if operation._schema.is_mutable:
        same = [each for each in given if isinstance(each, There) and each.numbers is result]
        return same[0] if same else result
    return tree_map(there, result) if torch.device(wanted).type == NAME else result


def _numbers(value):
    return value.numbers if isinstance(value, There) else value


def there(value):
    """Return a tensor on the device; other values as they are."""
    return There(value) if isinstance(value, torch.Tensor) and not isinstance(value, There) else value


def register():
    """Make PyTorch know the device; return what keeps it known."""
    _setup_privateuseone_for_python_backend(NAME)
    library, aten = torch.library.Library("_", "IMPL"), torch.library.Library("aten", "IMPL")
    library.fallback(computed, "PrivateUse1")
    aten.impl(
        "empty.memory_format",
        lambda size, dtype=None, **_: There(torch.empty(size, dtype=dtype)),
        "PrivateUse1",
    )
    aten.impl(
        "empty_strided",
        lambda size, stride, dtype=None, **_: There(torch.empty_strided(size, stride, dtype=dtype)),
        "PrivateUse1",
    )
    torch.tensor, torch.arange = _makes_there(torch.tensor), _makes_there(torch.arange)
    return library, aten


def _makes_there(make):
    """Return a function that makes tensors, also on Python devices, where PyTorch makes none or empty ones."""

    def function(*arguments, device=None, **options):
        made = make(*arguments, **options)
        return there(made) if device is not None and torch.device(device).type == NAME else made

    return function


def moved(case):
    """Return a case on the device."""
    scores = tuple(there(score.detach().clone()).requires_grad_() for score in case.scores)
    return replace(case, scores=scores, lengths=there(case.lengths))


MORE = {
    "mode": lambda d, _: d.max_score,
    "sample": lambda d, _: d.log_prob(d.sample((2,))) * 0.0,
    "sparsemap": lambda d, _: d.sparsemap().marginals,
    "sparsemap from a start": lambda d, _: d.sparsemap(start=d.sparsemap()).marginals,
}
"""Questions besides the operators of the conformance suite; samples only have to exist."""


def answers(subject, questions):
    """Yield the name of each question and the operations for its answer and gradient, also at twice the length.

    Answers of items of the first length are checked.
    """
    case, longer = (subject.case((2,), lengths=[n], size=n) for n in (subject.size, 2 * subject.size))
    asked, asked_there, asked_longer = random_arguments(case), arguments_there(case), arguments_there(longer)
    functions = {operator.name: operator.of for operator in operators(case)} | MORE
    for name, function in functions.items():
        if questions and name not in questions:
            continue
        if name.split()[0] in subject.lacks or (name == "mode" and "max_score" in subject.lacks):
            continue
        with using("reference"):
            expected, right = answered(function, case.leaves(), asked)
        (answer, grads), count = counted(function, moved(case), asked_there)
        assert answer.device.type == NAME, f"{name} is on {answer.device}"
        torch.testing.assert_close(answer.detach().numbers, expected.detach(), rtol=1e-6, atol=1e-6)
        for grad, other in zip(grads, right, strict=True):
            torch.testing.assert_close(grad.numbers, other, rtol=1e-6, atol=1e-6)
        yield name, count, counted(function, moved(longer), asked_longer)[1]


def arguments_there(case):
    """Return the arguments of operators on the device."""
    asked = random_arguments(case)
    names = ("event", "known", "values", "required", "forbidden")
    tensors = {name: there(getattr(asked, name)) for name in names}
    return replace(asked, **tensors, other=moved(rival(case)).distribution())


def answered(function, case, asked):
    """Return the answer of a function of a distribution, and the gradients of its sum if it has any."""
    answer = function(case.distribution(), asked)
    if not answer.requires_grad:
        return answer, ()
    total = _finite(answer).sum()
    return answer, as_tuple(torch.autograd.grad(total, case.scores, allow_unused=True, materialize_grads=True))


def counted(*arguments):
    """Return what `answered` returns, and the number of operations on the device."""
    global operations
    operations = 0
    return answered(*arguments), operations


def _finite(value):
    """Return a value with 0 for the infinite scores of impossible parts, whose gradients nothing defines."""
    return torch.where(torch.isfinite(value), value, 0.0)


def main(name, *questions):
    known = register()
    warnings.simplefilter("ignore")
    (subject,) = (subject for subject in STRUCTURES if subject.name == name)
    for question, *counts in answers(subject, questions):
        print(json.dumps([question, counts]), flush=True)
    del known


if __name__ == "__main__":
    main(*sys.argv[1:])
