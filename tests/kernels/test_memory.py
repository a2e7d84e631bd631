"""Memory is handed out again only when nothing can see it any more."""

import gc
import threading

import numpy as np
import pytest
import torch

from strukt.kernels import memory

SHAPE = (100, 333)


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def test_freed_memory_comes_back():
    first = memory.empty(SHAPE)
    place = address(first)
    del first
    gc.collect()
    assert address(memory.empty(SHAPE)) == place


def test_memory_in_use_is_never_handed_out():
    arrays = [memory.empty(SHAPE) for _ in range(5)]
    for value, array in enumerate(arrays):
        array.fill(value)
    assert [array[0, 0] for array in arrays] == [0, 1, 2, 3, 4]
    assert all((array == value).all() for value, array in enumerate(arrays))


def test_views_and_tensors_keep_their_memory():
    array = memory.empty(SHAPE)
    array.fill(7)
    row, tensor = array[3, 5:], torch.from_numpy(array)[4]
    del array
    gc.collect()
    others = [memory.empty(SHAPE) for _ in range(4)]
    for other in others:
        other.fill(-1)
    assert (row == 7).all()
    assert (tensor == 7).all()


def test_types_and_small_arrays():
    assert memory.empty((2, 3), np.float32).dtype == np.float32
    assert memory.empty((300, 300), np.float32).shape == (300, 300)
    zeros = memory.zeros(torch.empty(300, 300, dtype=torch.float32), torch.float64)
    assert zeros.dtype == torch.float64
    assert (zeros == 0).all()
    assert memory.empty((0, 5)).size == 0


@pytest.mark.parametrize("count", [512, 1000, 8191, 8193, 100_000, 123_457])
def test_arrays_start_at_a_cache_line_and_waste_at_most_an_eighth(count):
    array = memory.empty((count,))
    assert address(array) % memory.LINE == 0
    size = array.nbytes
    assert size + memory.LINE <= memory._size_class(size) <= size * 9 / 8 + memory.LINE + 1


def test_no_more_is_kept_than_the_limit(monkeypatch):
    monkeypatch.setattr(memory, "_kept", {})
    monkeypatch.setattr(memory, "_total", 0)
    block = (1 << 18) + memory.LINE
    monkeypatch.setattr(memory, "MOST", 3 * block)
    arrays = [memory.empty((1 << 15,)) for _ in range(8)]
    del arrays
    gc.collect()
    assert sum(len(kept) for blocks in memory._kept.values() for kept in blocks) == 3 * block


def test_threads_get_memory_of_their_own():
    def work(value: int) -> None:
        for _ in range(200):
            array = memory.empty(SHAPE)
            array.fill(value)
            wrong.extend([value] if (array != value).any() else [])

    wrong: list[int] = []
    threads = [threading.Thread(target=work, args=(value,)) for value in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
