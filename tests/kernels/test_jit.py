"""Kernels under threads, forks, shared caches, and without Numba."""

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset

import strukt
from strukt.distributions import LinearChain
from strukt.kernels import dispatch, elementary, jit

needs_numba = pytest.mark.skipif(
    dispatch.backends()["cpu"] != "available", reason=f"no compiled kernels: {dispatch.backends()['cpu']}"
)

WORK = """
import json, warnings
import torch
from strukt.distributions import LinearChain
torch.manual_seed(0)
unary = torch.randn(4, 6, 3, dtype=torch.float64, requires_grad=True)
chain = LinearChain(unary, torch.randn(3, 3, dtype=torch.float64))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    gradient, = torch.autograd.grad(chain.log_partition.sum(), unary)
    chain.mode, chain.marginals, chain.log_partition
print(json.dumps([chain.log_partition.tolist(), gradient.tolist(), [str(w.message) for w in caught]]))
"""


def start(code: str = WORK, **environment: str) -> "subprocess.Popen[str]":
    variables = {**os.environ, "OMP_NUM_THREADS": "1", **environment}
    return subprocess.Popen([sys.executable, "-c", code], env=variables, stdout=subprocess.PIPE, text=True)


def answer(process: "subprocess.Popen[str]") -> list:
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    return json.loads(output)


@pytest.fixture(scope="module")
def expected() -> list:
    with dispatch.using("reference"), contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(WORK, {})
    return json.loads(printed.getvalue())


def assert_same(actual: list, expected: list) -> None:
    for one, other in zip(actual[:2], expected[:2], strict=True):
        assert torch.allclose(torch.tensor(one), torch.tensor(other), atol=1e-10)


class Problems(Dataset):
    """Large enough for the kernels to use threads."""

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> torch.Tensor:
        torch.set_num_threads(2)
        return marginals_of(index)


def marginals_of(seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    unary, transition = torch.randn(4, 60, 20, generator=generator), torch.randn(20, 20, generator=generator)
    chain = LinearChain(unary, transition)
    return torch.cat([chain.marginals, chain.mode[..., None].float()], -1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_forked_data_loader_workers(monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    expected = torch.stack([marginals_of(index) for index in range(6)])  # the parent's pool now has threads
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # Python 3.12 and later warn of forking with threads
        loader = DataLoader(Problems(), num_workers=2, multiprocessing_context="fork", timeout=100)
        found = torch.cat(list(loader))
    assert torch.equal(found, expected)


def test_eight_threads_at_once():
    expected = [marginals_of(seed) for seed in range(40)]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(marginals_of, range(40)))
    assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))


@needs_numba
@pytest.mark.slow
def test_two_processes_fill_an_empty_cache_at_once(tmp_path, expected):
    first, second = start(NUMBA_CACHE_DIR=str(tmp_path)), start(NUMBA_CACHE_DIR=str(tmp_path))
    assert_same(answer(first), expected)
    assert_same(answer(second), expected)
    assert list(tmp_path.rglob("*.nbi"))
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nbc")}
    assert_same(answer(start(NUMBA_CACHE_DIR=str(tmp_path))), expected)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nbc")} == before, "compiled again"


@needs_numba
@pytest.mark.slow
def test_a_cache_that_cannot_be_written(tmp_path, expected):
    """Files stand where the cache folders would be made; so even the superuser cannot write there."""
    package = tmp_path / "site" / "strukt"
    shutil.copytree(Path(strukt.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in (package / "kernels", *(package / "kernels").iterdir()):
        if folder.is_dir():
            (folder / "__pycache__").touch()
    home = tmp_path / "home"
    home.touch()
    found = answer(start(PYTHONPATH=str(package.parent), HOME=str(home), XDG_CACHE_HOME=str(home)))
    assert_same(found, expected)
    assert found[2] == []


def test_without_numba_the_reference_runs_with_one_warning(expected):
    found = answer(start("import sys; sys.modules['numba'] = None\n" + WORK))
    assert_same(found, expected)
    assert len(found[2]) == 1
    assert "reference" in found[2][0]
    assert "numba" in found[2][0]


def test_the_thread_count_follows_torch():
    before = torch.get_num_threads()
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            assert jit.thread_count(batch=100, work=10**9) == threads
            assert jit.thread_count(batch=2, work=10**9) == min(threads, 2)
            assert jit.thread_count(batch=100, work=10) == 1
    finally:
        torch.set_num_threads(before)


@jit.kernel
def _own_exponentials(x, out):
    for i in range(len(x)):
        out[i] = elementary.typed_exp(x[i])


@pytest.mark.parametrize(
    ("dtype", "lowest", "tolerance"), [("float32", -86.9, 2.4e-7), ("float64", -700.0, 1e-15)]
)
def test_own_exp_is_the_exponential_in_its_own_precision(dtype, lowest, tolerance):
    x = np.append(np.linspace(lowest, 5.0, 10_001), [0.0, -np.inf]).astype(dtype)
    found = np.empty_like(x)
    _own_exponentials(x, found)
    np.testing.assert_allclose(found, np.exp(x.astype(np.float64)), rtol=tolerance, atol=0)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_every_item_of_a_batch_is_done_once_by_its_threads(threads):
    done: list[tuple[int, int]] = []
    together = threading.Barrier(threads)

    def record(batch: int, start: int, step: int) -> None:
        together.wait(timeout=60)  # so that no thread can do the work of two
        done.extend((item, threading.get_ident()) for item in range(start, batch, step))

    jit.over_batch(record, threads, 11)
    assert sorted(item for item, _ in done) == list(range(11))
    assert len({thread for _, thread in done}) == threads


@pytest.mark.parametrize("threads", [1, 2])
def test_tensors_are_passed_as_arrays_and_written_in_place(threads):
    values, doubled = torch.arange(6.0).reshape(2, 3).T.requires_grad_(), torch.zeros(3, 2)

    def double(values: np.ndarray, doubled: np.ndarray, start: int, step: int) -> None:
        assert values.flags.c_contiguous
        doubled[start::step] = 2 * values[start::step]

    jit.over_batch(double, threads, values, doubled)
    assert torch.equal(doubled, 2 * values)
