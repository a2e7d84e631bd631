"""A device that every machine has: its tensors are on the CPU, but keep the rules of an accelerator.

Code that mixes them with tensors of the CPU fails as it would on a GPU, and operations that make the host wait are
listed. PyTorch calls the device "lazy"; kernels do not know it, so the reference answers.
"""

from contextlib import contextmanager

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

from strukt.kernels.operator import body_of

aten = torch.ops.aten

DEVICE = torch.device("lazy")

WAITING = {
    aten._local_scalar_dense,
    aten._linalg_check_errors,
    aten.equal,
    aten.masked_select,
    aten.nonzero,
    aten._unique2,
    aten.unique_dim,
    aten.unique_consecutive,
    aten.bincount,
}
"""Operations that make the host wait for a device."""

INDEXING = {aten.index, aten.index_put, aten.index_put_, aten._index_put_impl_}
"""Operations that take indices of the CPU, too; masks among them make the host wait."""


class Elsewhere(torch.Tensor):
    """A tensor of the other device."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, values):
        return torch.Tensor._make_wrapper_subclass(
            cls, values.shape, values.stride(), values.storage_offset(), dtype=values.dtype, device=DEVICE
        )

    def __init__(self, values):
        self.values_here = values

    def __repr__(self):
        return f"Elsewhere({self.values_here})"

    def tolist(self):
        return self.cpu().tolist()

    @classmethod
    def __torch_dispatch__(cls, operation, types, arguments=(), options=None):
        raise RuntimeError(f"{operation} outside of `elsewhere`")


class Rules(TorchDispatchMode):
    """The rules of devices; ``waits`` holds the names of operations for which the host waits, in order."""

    def __init__(self):
        super().__init__()
        self.waits = []

    def __torch_dispatch__(self, operation, types, arguments=(), options=None):
        options = options or {}
        if operation.namespace == "strukt":
            with self:
                return body_of(operation)(*arguments, **options)
        tensors = [each for each in tree_flatten((arguments, options))[0] if isinstance(each, torch.Tensor)]
        there = [each for each in tensors if each.device == DEVICE]
        wanted = next((each for each in (*arguments, *options.values()) if isinstance(each, torch.device)), None)
        is_there = bool(there) if wanted is None else wanted == DEVICE
        if there:
            self._check(operation, arguments, tensors, there)
        if wanted is not None and tensors and is_there != bool(there) and not options.get("non_blocking"):
            self.waits.append(str(operation))
        result = operation(*tree_map(_here, arguments), **tree_map(_here, options))
        if not is_there or operation.overloadpacket in (aten._local_scalar_dense, aten.equal):
            return result
        if operation._schema.is_mutable and arguments and isinstance(arguments[0], Elsewhere):
            return arguments[0]
        return tree_map(lambda each: Elsewhere(each) if isinstance(each, torch.Tensor) else each, result)

    def _check(self, operation, arguments, tensors, there):
        packet = operation.overloadpacket
        waits = packet in WAITING or (packet is aten.repeat_interleave and not isinstance(arguments[-1], int))
        if packet in INDEXING:
            indices = [each for each in arguments[1] if each is not None]
            waits = any(each.dtype == torch.bool or each.device != DEVICE for each in indices)
            tensors = [each for each in tensors if not any(each is index for index in indices)]
        if packet is aten.copy_ and len(there) < len(tensors):
            waits = True
        elif any(each.dim() for each in tensors if each.device != DEVICE):
            shapes = [(str(each.device), tuple(each.shape)) for each in tensors]
            raise RuntimeError(f"{operation}: expected all tensors to be on the same device, got {shapes}")
        if waits:
            self.waits.append(str(operation))


class Numbers(TorchFunctionMode):
    """Tensors of numbers of Python, which PyTorch makes without asking for the rules."""

    def __torch_function__(self, function, types, arguments=(), options=None):
        options = options or {}
        if function is not torch.tensor or options.get("device") != DEVICE:
            return function(*arguments, **options)
        return torch.tensor(*arguments, **options | {"device": "cpu"}).to(DEVICE)


def _here(value):
    if isinstance(value, Elsewhere):
        return value.values_here
    return torch.device("cpu") if value == DEVICE else value


@contextmanager
def elsewhere():
    """Run a block by the rules; gives a function that moves tensors there, and the list of waits."""
    rules = Rules()

    def moved(tensor, requires_grad=False):
        return Elsewhere(tensor.detach().clone()).requires_grad_(requires_grad)

    with Numbers(), rules:
        yield moved, rules.waits
