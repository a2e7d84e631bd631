"""Functions that only kernels call have no machine code of their own."""

import os
import subprocess
import sys

import numpy as np
import pytest

from strukt.kernels import jit

pytestmark = pytest.mark.skipif(jit.UNAVAILABLE is not None, reason=str(jit.UNAVAILABLE))


@jit.inner
def _ratio(numerator: float, denominator: float) -> float:
    if denominator == 0.0:
        raise ZeroDivisionError("no ratio to nothing")
    return numerator / denominator


@jit.inner
def _ratios(numerators: np.ndarray, denominators: np.ndarray, out: np.ndarray) -> float:
    for i in range(len(out)):
        out[i] = _ratio(numerators[i], denominators[i])
    return out.max()


@jit.kernel
def _largest_ratio(numerators: np.ndarray, denominators: np.ndarray) -> float:
    return _ratios(numerators, denominators, np.empty(len(numerators)))


def test_a_kernel_runs_what_it_calls() -> None:
    assert _largest_ratio(np.array([1.0, 3.0]), np.array([4.0, 2.0])) == 1.5


def test_an_error_of_an_inner_function_leaves_the_kernel() -> None:
    with pytest.raises(ZeroDivisionError, match="no ratio to nothing"):
        _largest_ratio(np.array([1.0]), np.array([0.0]))


def test_only_kernels_become_machine_code() -> None:
    from numba import float64

    from strukt.kernels.linked import LinkedLibrary

    vector = float64[::1]
    for function, types, linked in (
        (_ratio, (float64, float64), True),
        (_ratios, (vector, vector, vector), True),
        (_largest_ratio, (vector, vector), False),
    ):
        function.compile(types)
        assert isinstance(function.overloads[types].library, LinkedLibrary) == linked


@jit.inner
def _next(number: int) -> int:
    return number + 1


@jit.kernel
def _next_of_two(number: int) -> int:
    return _next(3) + _next(4) + _next(number)


def test_all_integers_have_one_version() -> None:
    from numba import int64

    _next_of_two.compile((int64,))
    _next.compile((int64,))
    assert list(_next.overloads) == [(int64,)]
    assert _next_of_two(5) == 15


RUN = """
import sys
import torch
sys.modules["strukt.kernels.linked"] = {}
from strukt import LinearChain
print(LinearChain(torch.zeros(2, 3), torch.zeros(3, 3)).mode.tolist())
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "variables"), [("None", {}), ("sys", {"NUMBA_DISABLE_JIT": "1"})], ids=["moved", "no compiler"]
)
def test_numba_with_other_internals_or_none_at_all(module: str, variables: dict[str, str]) -> None:
    """A missing module stands for names of Numba that have moved."""
    command = [sys.executable, "-c", RUN.format(module)]
    found = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **variables})
    assert (found.stdout, found.returncode) == ("[0, 0]\n", 0), found.stderr
