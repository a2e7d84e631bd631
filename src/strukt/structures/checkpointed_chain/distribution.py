"""Linear chains for long sequences, with gradient checkpointing."""

from __future__ import annotations

from strukt.kernels.engine.oracles import TableOracles
from strukt.structures.linear_chain.distribution import LinearChain
from strukt.structures.linear_chain.reference import REFERENCE


class CheckpointedChain(LinearChain):
    """A `LinearChain` for long sequences: the CPU stores O(sqrt(n) c) numbers for the gradient instead of O(n c).

    The n positions have c tags. The CPU kernels store the forward messages of about sqrt(n) positions and
    recompute the others, which costs one more forward pass (gradient checkpointing). The reference in PyTorch and
    the GPU kernels store all messages. If these would take more than 2 GiB on a GPU, the CPU kernels compute the
    result. The gradient itself, like the scores, has n c entries. In all other respects it is a `LinearChain`, but
    its `cross_entropy` takes another `CheckpointedChain`.

    Examples:
        >>> import torch
        >>> unary = torch.zeros(100_000, 3)
        >>> CheckpointedChain(unary, torch.zeros(3, 3)).log_partition
        tensor(109861.2266)
    """

    oracles = TableOracles(__package__, scores=("unary", "transition"), options=(), reference=REFERENCE)
