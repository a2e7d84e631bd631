"""Peak memory above the baseline."""

import math

import pytest
import torch

from benchmarks import memory

pytestmark = pytest.mark.skipif(not memory.PROCESS.exists(), reason="no /proc on this system")
MEGABYTES = 64


def allocate_and_free() -> int:
    return len(torch.ones(MEGABYTES * 2**18))


def test_peak_sees_what_was_freed_again() -> None:
    baseline = memory.resident()
    length, peak = memory.peak(allocate_and_free)
    assert length == MEGABYTES * 2**18
    assert MEGABYTES - 4 < (peak - baseline) / 2**20 < MEGABYTES + 32  # the kernel counts in batches of pages


@pytest.mark.slow
def test_peak_forgets_earlier_peaks() -> None:
    allocate_and_free()
    baseline = memory.resident()
    _, peak = memory.peak(lambda: None)
    assert (peak - baseline) / 2**20 < MEGABYTES / 2


def test_a_system_without_proc_gives_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "PROCESS", memory.PROCESS / "missing")
    assert math.isnan(memory.resident())
    result, peak = memory.peak(lambda: "done")
    assert result == "done"
    assert math.isnan(peak)
