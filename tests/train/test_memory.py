"""The C library keeps what is freed, and oneDNN few primitives."""

import ctypes
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tests import children

from strukt.train.memory import PRIMITIVES, bound_primitive_cache, give_back_freed_memory, keep_freed_memory


def faults_of_large_blocks():
    """Page faults while blocks of 16 MiB are taken and freed, as in a training."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        torch.zeros(4 << 20).add_(1)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def compare():
    given_back = faults_of_large_blocks()
    keep_freed_memory()
    faults_of_large_blocks()
    sys.exit(0 if faults_of_large_blocks() < given_back / 2 else 1)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="another C library than that of GNU")
def test_large_blocks_no_longer_fault():
    assert children.run(compare) == 0


def test_it_may_be_asked_for_twice():
    assert children.run(keep_freed_memory) == 0


def resident():
    """Resident memory, in bytes."""
    pages = Path("/proc/self/statm").read_text(encoding="utf-8").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def give_back():
    keep_freed_memory()
    blocks = [torch.ones(1 << 20) for _ in range(64)]  # 4 MiB each
    last = blocks.pop()  # above the others: the end of the heap stays where it is
    del blocks
    kept = resident()
    give_back_freed_memory()
    assert last.sum() == 1 << 20
    sys.exit(0 if resident() < kept - (200 << 20) else 1)


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="another C library than that of GNU")
def test_gaps_are_given_back():
    assert children.run(give_back) == 0


PRODUCTS = """
import sys
import torch
from strukt.train.memory import bound_primitive_cache

bound_primitive_cache()
torch.set_num_threads(1)
square = torch.ones(32, 32, dtype=torch.bfloat16)
for rows in [*range(65, 65 + int(sys.argv[1])), 65]:
    torch.ones(rows, 32, dtype=torch.bfloat16) @ square
"""


def is_kept(shapes):
    """Whether oneDNN still has the primitive of the first of so many shapes, by what it says of its cache."""
    known = {name: value for name, value in os.environ.items() if "PRIMITIVE_CACHE" not in name}
    spoken = subprocess.run(
        [sys.executable, "-c", PRODUCTS, str(shapes)],
        env=known | {"ONEDNN_VERBOSE": "2"},
        capture_output=True,
        text=True,
        check=True,
    )
    made = [line for line in spoken.stdout.splitlines() if ",create:" in line]
    assert len(made) == shapes + 1
    return "cache_hit" in made[-1]


@pytest.mark.slow
@pytest.mark.skipif(
    not (torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported()),
    reason="PyTorch does not multiply by oneDNN in bfloat16 on this processor",
)
def test_few_primitives_are_kept():
    assert is_kept(PRIMITIVES // 4)
    assert not is_kept(PRIMITIVES + 10)


@pytest.mark.parametrize("name", ["ONEDNN_PRIMITIVE_CACHE_CAPACITY", "DNNL_PRIMITIVE_CACHE_CAPACITY"])
def test_a_number_of_primitives_that_is_asked_for_stays(name, monkeypatch):
    for known in [each for each in os.environ if "PRIMITIVE_CACHE" in each]:
        monkeypatch.delenv(known)
    monkeypatch.setenv(name, "1024")
    bound_primitive_cache()
    assert {each: value for each, value in os.environ.items() if "PRIMITIVE_CACHE" in each} == {name: "1024"}
