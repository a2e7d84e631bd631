"""Files that appear whole or not at all."""

import os
import stat

import pytest
import torch

from strukt.errors import DataError
from strukt.train.storage import read_json, read_tensors, write_json, write_tensors


def test_tensors_come_back(tmp_path):
    tensors = {"a.b": torch.randn(2, 3), "counts": torch.arange(4), "part": torch.randn(4, 4).T[1:]}
    write_tensors(tmp_path / "t.safetensors", tensors)
    found = read_tensors(tmp_path / "t.safetensors")
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert torch.equal(found[name], tensor)
        assert found[name].dtype == tensor.dtype


def test_tied_tensors_are_written_once_and_come_back_tied(tmp_path):
    model = torch.nn.ModuleDict({"first": torch.nn.Linear(30, 20), "second": torch.nn.Linear(30, 20)})
    model["second"].weight = model["first"].weight
    tensors = model.state_dict()
    write_tensors(tmp_path / "t.safetensors", tensors)
    assert (tmp_path / "t.safetensors").stat().st_size < 1.5 * 30 * 20 * 4
    found = read_tensors(tmp_path / "t.safetensors")
    assert found.keys() == tensors.keys()
    assert found["second.weight"] is found["first.weight"]
    assert all(torch.equal(found[name], tensors[name]) for name in tensors)


def test_parts_of_one_memory_come_back(tmp_path):
    whole = torch.arange(12.0).reshape(3, 4)
    parts = {"whole": whole, "row": whole[1], "other": whole[2], "turned": whole.T, "flat": whole.flatten()}
    write_tensors(tmp_path / "t.safetensors", parts)
    found = read_tensors(tmp_path / "t.safetensors")
    assert all(torch.equal(found[name], part) for name, part in parts.items())


def test_json_comes_back(tmp_path):
    write_json(tmp_path / "v.json", {"ä": [1, 2.5, None]})
    assert read_json(tmp_path / "v.json") == {"ä": [1, 2.5, None]}


@pytest.mark.parametrize("read", [read_json, read_tensors])
@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"\x08" * 100])
def test_damaged_files_are_named(tmp_path, read, content):
    path = tmp_path / "damaged"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"damaged: is damaged \("):
        read(path)


@pytest.mark.parametrize("read", [read_json, read_tensors])
def test_missing_files_are_named(tmp_path, read):
    with pytest.raises(DataError, match="nowhere: is missing"):
        read(tmp_path / "nowhere")


def test_a_file_that_is_replaced_is_never_half_written(tmp_path, monkeypatch):
    path = tmp_path / "t.safetensors"
    write_tensors(path, {"a": torch.ones(3)})

    def full_disk(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(DataError, match=r"t.safetensors: cannot be written: .*No space left"):
        write_tensors(path, {"a": torch.zeros(3)})
    assert torch.equal(read_tensors(path)["a"], torch.ones(3))
    assert os.listdir(tmp_path) == ["t.safetensors"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_a_file_that_is_replaced_passes_on_its_mode(tmp_path, mode):
    path = tmp_path / "t.safetensors"
    path.touch()
    path.chmod(mode)
    write_tensors(path, {"a": torch.zeros(3)})
    assert oct(stat.S_IMODE(path.stat().st_mode)) == oct(mode)
    (path.parent / ".other.part").touch(0o600)  # of a process that was killed
    write_tensors(path.with_name("other"), {"a": torch.zeros(3)})
    (path.parent / "third").touch()
    assert (path.parent / "other").stat().st_mode == (path.parent / "third").stat().st_mode


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_all_files_have_the_mode_that_the_umask_leaves(tmp_path, umask):
    before = os.umask(umask)
    try:
        write_json(tmp_path / "a.json", {})
        write_tensors(tmp_path / "a.safetensors", {"a": torch.zeros(2)})
        write_tensors(tmp_path / "a.safetensors", {"a": torch.zeros(3)})
    finally:
        os.umask(before)
    modes = {file.name: oct(stat.S_IMODE(file.stat().st_mode)) for file in tmp_path.iterdir()}
    assert modes == dict.fromkeys(["a.json", "a.safetensors"], oct(0o666 & ~umask))
