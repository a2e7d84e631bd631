"""Non-projective dependency trees, whose arcs may cross."""

from __future__ import annotations

from torch import Tensor

from strukt.kernels.autograd import asks_for_gradient, is_plain
from strukt.kernels.engine.oracles import TableOracles
from strukt.structures.dependency import DependencyTree
from strukt.structures.labelled_arcs import LabelledOracles
from strukt.structures.non_projective_tree.reference import REFERENCE


class NonProjectiveTree(DependencyTree):
    """Dependency trees whose arcs may cross: log-partition by the Matrix-Tree theorem, mode by Chu-Liu/Edmonds.

    Args:
        arcs: ``batch + (n, n + 1)``, or with c labels ``batch + (n, n + 1, c)``; ``[m, h]`` scores head h for word
            m + 1, and h = 0 is the root, so that an event is a HEAD column of CoNLL-U. The score of a word as its
            own head has no effect, but must not be NaN or +inf.
        lengths: ``batch``; all n if None.
        single_root: Whether exactly one word depends on the root, instead of one or more.
        labelled: Whether the last axis of ``arcs`` holds labels; None to infer that from the shapes. A shape that
            ends in (n, n + 1, n + 2) is ambiguous: without lengths it is read as unlabelled, with a warning.
        validate_args: Whether to check values as well as shapes; if None, see `strukt.set_default_validate_args`.

    `StructuredDistribution` has the operators, and the rules for -inf, NaN and padding.

    Events are heads ``batch + (n,)``, or with labels the head and the label of each word, ``batch + (n, 2)``: the
    columns HEAD and DEPREL. They are -1 in the padding. `log_partition`, `marginals`, `entropy` and
    `max_marginals` take O(n^3) time per item (`max_marginals` with a gradient O(n^4)), `mode` O(n^2) and
    ``topk(k)`` O(k n^2 + k^2). `sample` takes O(n^3) per item, and for each sample a random walk of up to 32 n
    steps, or O(n^3) time if it needs more steps (in the PyTorch reference O(n^4) per sample). Labels add O(n^2 c),
    and to `topk` O(n k^2 log k).

    Raises:
        ValueError: If shapes, types or values do not fit.

    Warns:
        UserWarning: If ``labelled`` is None, and the shape is ambiguous, or is (n, n + 1, n + 1) without lengths.
            The latter is read as one sentence with labels; in other libraries it is a batch with a row for the
            root.

    Examples:
        >>> import torch
        >>> trees = NonProjectiveTree(torch.zeros(4, 5))
        >>> trees.log_count.exp().round()
        tensor(64.)
        >>> NonProjectiveTree(torch.zeros(4, 5), single_root=False).log_count.exp().round()
        tensor(125.)
        >>> arcs = torch.tensor([[2.0, -9.0, 1.0], [1.9, 1.0, -9.0]])
        >>> NonProjectiveTree(arcs).mode
        tensor([0, 1])
        >>> labelled = torch.stack([arcs, arcs - 1.0, arcs + 0.5], -1)
        >>> NonProjectiveTree(labelled, labelled=True).mode
        tensor([[0, 2],
                [1, 2]])
    """

    oracles = TableOracles(__package__, scores=("arcs",), options=("single_root",), reference=REFERENCE)
    labelled_oracles = LabelledOracles(oracles)

    def _max_marginals(self) -> Tensor:
        if self.labelled or not is_plain() or asks_for_gradient(self.scores):
            return super()._max_marginals()  # for each arc the best tree that requires it
        return self._to_batch(REFERENCE.max_marginals(*self._arguments()))
