"""Where the kernels for GPUs run in tests: on a GPU, or else on the CPU by Triton's interpreter."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch

from strukt.kernels.dispatch import using
from strukt.kernels.engine.gpu import available
from strukt.testing.operators import rival
from strukt.testing.subjects import STRUCTURES

ON_GPU = torch.cuda.is_available()
DEVICE = "cuda" if ON_GPU else "cpu"

SLOW = pytest.mark.skipif(False, reason="") if ON_GPU else pytest.mark.slow
"""For tests that take Triton's interpreter several seconds, and a GPU none."""

runs = available.broken() is None and (ON_GPU or available.is_interpreted())

needed = pytest.mark.skipif(
    not runs,
    reason=f"needs a GPU or Triton's interpreter: {available.broken() or 'TRITON_INTERPRET is not 1'}",
)

KINDS = (
    "BitSpanTree", "CTC", "KSubset", "LexicalisedTree", "LinearChain", "MonotoneAlignment",
    "ProjectiveTree", "SecondOrderTree", "SemiMarkov", "SpanTree", "Transducer",
)  # fmt: skip
"""Structures that have a table."""

TABLES = [subject for subject in STRUCTURES if subject.name.split(",")[0] in KINDS]

LAST = {subject.name.split(",")[0]: subject for subject in TABLES}
"""One of each kind."""


def on_device(case, smooth=True):
    """A case with its scores and lengths on the device; the scores require gradients if they are smooth."""
    scores = tuple(score.detach().to(DEVICE).requires_grad_(smooth) for score in case.scores)
    return replace(case, scores=scores, lengths=case.lengths.to(DEVICE))


def asked_there(case, asked):
    """A question about a case, on the device."""
    names = ("event", "known", "values", "required", "forbidden")
    tensors = {name: getattr(asked, name).to(DEVICE) for name in names}
    return replace(asked, **tensors, other=on_device(rival(case)).distribution())


def by_kernels(function, *arguments):
    """The result of a function, computed by the kernels for GPUs."""
    with np.errstate(all="ignore"), warnings.catch_warnings(), using("gpu"):
        warnings.filterwarnings("ignore", "All-NaN slice", RuntimeWarning)  # of the interpreter, in the padding
        return function(*arguments)
