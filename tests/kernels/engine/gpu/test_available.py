"""Triton may be missing, old or broken: there is a reason in a line, and one warning."""

import sys
import types
import warnings

import pytest
import torch

from strukt.kernels import dispatch
from strukt.kernels.engine.gpu import available


@pytest.fixture
def fresh():
    """Forget what was found out about Triton, before and after."""
    functions = available.broken, available.reason, available.warn_once
    for function in functions:
        function.cache_clear()
    yield
    for function in functions:
        function.cache_clear()


def module(version):
    """A module in the place of Triton."""
    result = types.ModuleType("triton")
    result.__version__ = version
    return result


@pytest.mark.parametrize(
    ("installed", "reason"),
    [
        (None, "triton cannot be imported (import of triton halted"),
        (module("3.5.1"), "triton is 3.5.1; expected 3.6 or newer"),
        (module("main"), "triton cannot be imported (invalid literal for int"),
    ],
    ids=["missing", "old", "broken"],
)
def test_reasons_are_told_by_doctor_and_once_as_a_warning(fresh, monkeypatch, installed, reason):
    monkeypatch.setitem(sys.modules, "triton", installed)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert available.broken().startswith(reason)
    assert dispatch.backends()["gpu"] == available.broken()
    scores = types.SimpleNamespace(is_cuda=True, is_cpu=False, is_meta=False)
    with pytest.warns(RuntimeWarning, match="no kernels for the GPU; it computes on the CPU") as told:
        assert not dispatch.reaches_gpu(scores)
    assert reason in str(told[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not dispatch.reaches_gpu(scores)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_nothing_is_imported(fresh, monkeypatch):
    monkeypatch.setitem(sys.modules, "triton", None)
    assert available.reason() == "PyTorch sees no GPU"
