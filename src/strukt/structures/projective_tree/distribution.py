"""Projective dependency trees, without crossing arcs (Eisner's algorithm)."""

from __future__ import annotations

from typing import ClassVar

from strukt.kernels.engine.oracles import TableOracles
from strukt.kernels.oracles import Oracles
from strukt.structures.dependency import DependencyTree
from strukt.structures.projective_tree.labelled.reference import ORACLES as LABELLED
from strukt.structures.projective_tree.reference import REFERENCE


class ProjectiveTree(DependencyTree):
    """Dependency trees without crossing arcs (Eisner 1996).

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
    columns HEAD and DEPREL. They are -1 in the padding. Sums and maxima take O(n^3) time per item (`sample`, and
    `topk` on CPUs, add O(n^2) per tree; ``topk(k)`` takes k^2 times as long as `mode` in the PyTorch reference);
    `log_partition` stores O(n^2) numbers for its gradient. Labels add O(n^2 c), and to `topk` O(n k^2 log k).

    Raises:
        ValueError: If shapes, types or values do not fit.

    Warns:
        UserWarning: If ``labelled`` is None, and the shape is ambiguous, or is (n, n + 1, n + 1) without lengths.
            The latter is read as one sentence with labels; in other libraries it is a batch with a row for the
            root.

    Examples:
        >>> import torch
        >>> trees = ProjectiveTree(torch.zeros(4, 5))
        >>> trees.log_count.exp().round()
        tensor(30.)
        >>> trees.marginals[0]
        tensor([0.4000, 0.0000, 0.2333, 0.1333, 0.2333])
    """

    oracles = TableOracles(__package__, scores=("arcs",), options=("single_root",), reference=REFERENCE)
    labelled_oracles: ClassVar[Oracles] = LABELLED
    _projective: ClassVar[bool] = True
