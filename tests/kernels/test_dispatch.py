"""Which backend computes a recursion."""

import threading

import pytest
import torch

from strukt.errors import SettingError
from strukt.kernels import dispatch, jit

SCORES = torch.zeros(1, 1, 1)
CHAIN = "strukt.structures.linear_chain"

needs_numba = pytest.mark.skipif(
    jit.UNAVAILABLE is not None, reason=f"no compiled kernels: {jit.UNAVAILABLE}"
)


@pytest.fixture(autouse=True)
def _no_setting(monkeypatch):
    monkeypatch.delenv("STRUKT_BACKEND", raising=False)


@needs_numba
@pytest.mark.parametrize("package", [CHAIN, "strukt.structures.semi_markov"])
def test_a_package_with_kernels_has_a_module_of_them(package):
    assert dispatch.select(package, SCORES).__name__ == f"{package}.cpu"


@needs_numba
def test_a_package_without_kernels_has_the_reference():
    assert dispatch.select("strukt.structures.binary_crf", SCORES) is None


@needs_numba
@pytest.mark.parametrize("name", ["ring", "torch", "a_package.ring"])
def test_a_structure_from_outside_has_the_reference(name):
    """Whether there is nothing of the name, another package with a module ``cpu``, or no package."""
    assert dispatch.select(name, SCORES) is None


def test_other_devices_and_the_setting_have_the_reference(monkeypatch):
    meta = SCORES.to("meta")
    assert dispatch.select(CHAIN, meta) is None
    monkeypatch.setenv("STRUKT_BACKEND", "reference")
    assert dispatch.select(CHAIN, meta) is dispatch.select(CHAIN, SCORES) is None
    monkeypatch.setenv("STRUKT_BACKEND", "gpus")
    with pytest.raises(SettingError, match="STRUKT_BACKEND is 'gpus'; expected one of cpu, gpu, reference"):
        dispatch.select(CHAIN, SCORES)


@needs_numba
def test_a_backend_is_used_within_a_context_alone(monkeypatch):
    monkeypatch.setenv("STRUKT_BACKEND", "cpu")
    with dispatch.using("reference"):
        assert dispatch.select(CHAIN, SCORES) is None
        with dispatch.using("cpu"):
            assert dispatch.select(CHAIN, SCORES) is not None
        assert dispatch.select(CHAIN, SCORES) is None
    assert dispatch.select(CHAIN, SCORES) is not None


@needs_numba
def test_a_backend_is_used_by_one_thread_alone():
    found = []
    with dispatch.using("reference"):
        thread = threading.Thread(target=lambda: found.append(dispatch.select(CHAIN, SCORES)))
        thread.start()
        thread.join()
    assert found[0] is not None


def test_a_backend_that_there_is_not_is_refused():
    expected = "backend is 'gpus'; expected one of cpu, gpu, reference"
    with pytest.raises(SettingError, match=expected), dispatch.using("gpus"):
        pass
