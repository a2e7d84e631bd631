"""Items of all lengths share the launches of a step, and tables are made once for a size and device."""

import inspect
import re
import weakref

import pytest
import torch
from tests.kernels.engine.gpu.device import DEVICE, LAST, by_kernels, needed, on_device

from strukt.kernels.engine import array_cache
from strukt.kernels.engine.gpu.launching import for_all_sizes, launcher
from strukt.structures.projective_tree.gpu import TABLE

pytestmark = needed

@pytest.fixture
def launched(monkeypatch):
    """The kernels and grids of what would be launched; nothing is."""
    from strukt.kernels.engine.gpu import run

    grids = []

    def noted(self, kernel, grid, *arguments, **options):
        grids.append((kernel.fn.__name__, grid))

    monkeypatch.setattr(run.Run, "_launch", noted)
    return grids


@pytest.mark.parametrize("name", sorted(set(LAST) - {"CTC", "LinearChain"}))
def test_lengths_share_the_launches_of_a_step(name, launched):
    """The weights are split in both passes, of a program for each item; weights of single terms are last."""
    steps = []
    for lengths in ([4, 4, 4], [4, 3, 0]):
        case = on_device(LAST[name].case((3,), lengths=lengths, size=4))
        launched.clear()
        by_kernels(lambda case=case: case.distribution(validate_args=False).log_partition.sum().backward())
        steps.append(list(launched))
    first, second = steps
    assert first == second
    of_terms = ["weights_of_terms"] * (len(first) - 4)
    assert [kernel for kernel, _ in first] == ["split", "inside", "split", "outside", *of_terms]
    assert len(of_terms) <= 1
    assert all(grid[0] == 3 for _, grid in first)


def kernels_of_tables():
    """All kernels that `run.Run` launches."""
    from strukt.kernels.engine.gpu import best, growth, inside_outside, kbest, numbers, run

    modules = {each.__name__.rpartition(".")[2]: each for each in (best, growth, inside_outside, kbest, numbers)}
    names = re.findall(r"self\._launch\(\s*(\w+)\.(\w+)", inspect.getsource(run))
    return [getattr(modules[module], name) for module, name in {*names, ("numbers", "split")}]


def test_one_compilation_serves_all_sizes(monkeypatch):
    import triton

    monkeypatch.setattr(triton.knobs.runtime, "interpret", False)
    for kernel in kernels_of_tables():
        assert "@for_all_sizes" in inspect.getsource(kernel.fn), kernel.fn.__name__
        made = for_all_sizes(kernel.fn)
        specialised = [each.name for each in made.params if not each.do_not_specialize]
        assert all(name.isupper() for name in specialised), specialised


def test_launches_fuse_products_and_do_not_pipeline_unless_asked():
    kernel = {(1,): lambda **options: options}
    assert launcher(kernel, (1,))() == {"enable_fp_fusion": True, "num_stages": 1}
    assert launcher(kernel, (1,))(num_stages=3)["num_stages"] == 3


def test_tables_that_a_graph_reads_are_kept(monkeypatch):
    device, cache = torch.device(DEVICE), array_cache.DeviceCache()
    monkeypatch.setattr(array_cache, "MOST", 1)
    monkeypatch.setattr(array_cache, "is_capturing", lambda device: True)
    captured = weakref.ref(cache.get_on(device, "captured", lambda: (torch.zeros(3, device=device),))[0])
    monkeypatch.setattr(array_cache, "is_capturing", lambda device: False)
    other = weakref.ref(cache.get_on(device, "other", lambda: (torch.zeros(3, device=device),))[0])
    cache.get_on(device, "last", lambda: (torch.zeros(3, device=device),))
    assert captured() is not None
    assert other() is None


def test_tables_are_cached_by_size_and_device():
    device = torch.device(DEVICE)

    def get(n):
        return TABLE.tables.get((n, True), (n, n + 1), device)

    assert get(3) is get(3)
    assert get(4) is not get(3)
    tensors = [each for each in get(3) if isinstance(each, torch.Tensor)]
    assert {each.device.type for each in tensors} == {DEVICE}
    assert get(3).starts.numel() > 1  # the inverse, too
