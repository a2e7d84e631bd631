"""Checkpoints: what is in them, which are kept, and what happens to damaged ones."""

import os

import pytest
import torch

from strukt.errors import DataError
from strukt.train.checkpoints import (
    Checkpoint,
    Progress,
    flatten_optimizer,
    newest,
    restore_optimizer,
    seed_step,
    write,
)


def checkpoint(step):
    progress = Progress(epoch=2, batch=3, step=step, loss=0.5, best_epoch=1, history=[{"LAS": 1.5}])
    return Checkpoint(progress, {"weights": {"a": torch.full((2,), float(step))}, "best": {}}, {"scale": 2.0})


def test_a_checkpoint_comes_back(tmp_path):
    write(tmp_path, checkpoint(7))
    found = newest(tmp_path)
    assert found.progress == checkpoint(7).progress
    assert torch.equal(found.tensors["weights"]["a"], torch.tensor([7.0, 7.0]))
    assert found.tensors["best"] == {}
    assert found.precision == {"scale": 2.0}


def test_the_last_two_are_kept(tmp_path):
    for step in (5, 90, 100, 1000):
        write(tmp_path, checkpoint(step))
    assert sorted(os.listdir(tmp_path)) == ["step-00000100", "step-00001000"]
    assert newest(tmp_path).progress.step == 1000


def test_no_checkpoint_is_nothing_to_go_on_from(tmp_path):
    assert newest(tmp_path) is None
    assert newest(tmp_path / "nowhere") is None


@pytest.mark.parametrize("name", ["weights.safetensors", "best.safetensors", "state.json"])
@pytest.mark.parametrize("damage", ["cut", "flip", "remove"])
def test_a_damaged_last_checkpoint_is_named_and_the_one_before_is_used(tmp_path, name, damage):
    write(tmp_path, checkpoint(1))
    write(tmp_path, checkpoint(2))
    path = tmp_path / "step-00000002" / name
    content = path.read_bytes()
    path.unlink()
    if damage == "cut":
        path.write_bytes(content[: len(content) // 2])
    if damage == "flip":
        path.write_bytes(bytes([content[0] ^ 0x80]) + content[1:])
    with pytest.warns(UserWarning, match=rf"{name}.*; falling back to the checkpoint before it"):
        assert newest(tmp_path).progress.step == 1


def test_if_none_is_whole_it_says_so(tmp_path):
    write(tmp_path, checkpoint(1))
    (tmp_path / "step-00000001" / "state.json").write_text("[]")
    with pytest.warns(UserWarning, match="damaged"), pytest.raises(DataError, match="all checkpoints are damaged"):
        newest(tmp_path)


def test_what_a_killed_write_left_is_swept_away(tmp_path):
    (tmp_path / ".part").mkdir()
    (tmp_path / ".part" / "weights.safetensors").write_bytes(b"half")
    assert newest(tmp_path) is None
    write(tmp_path, checkpoint(1))
    assert os.listdir(tmp_path) == ["step-00000001"]


def test_nothing_is_pickled(tmp_path):
    write(tmp_path, checkpoint(1))
    assert {path.suffix for path in tmp_path.glob("*/*")} == {".safetensors", ".json"}


def test_an_optimizer_goes_on_as_if_nothing_had_happened():
    def steps(model, optimizer, count):
        for _ in range(count):
            optimizer.zero_grad()
            model(torch.ones(3)).square().sum().backward()
            optimizer.step()

    torch.manual_seed(0)
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    steps(model, optimizer, 3)
    twin = torch.nn.Linear(3, 2)
    twin.load_state_dict(model.state_dict())
    restored = torch.optim.AdamW(twin.parameters(), lr=0.1)
    restore_optimizer(restored, {name: value.clone() for name, value in flatten_optimizer(optimizer).items()})
    for net, own in ((model, optimizer), (twin, restored)):
        steps(net, own, 3)
    assert torch.equal(model.weight, twin.weight)


def test_the_random_numbers_of_a_step_are_its_own():
    def draw(*position):
        seed_step(*position)
        return torch.rand(3).tolist()

    assert draw(1, 2, 0) == draw(1, 2, 0)
    assert len({tuple(draw(*position)) for position in [(1, 2, 0), (2, 2, 0), (1, 3, 0), (1, 2, 1)]}) == 4
