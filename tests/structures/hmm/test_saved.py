"""Models on disk are what they were, and damaged files are named."""

import json
import stat

import pytest
import torch
from safetensors.torch import save_file
from tests.structures.hmm.enumerated_hmm import (
    KINDS,
    VECTORS,
    model,
    model_of_vectors,
    normal,
    observations,
    words,
)

from strukt import HMM, Blocked, DataError, Embedded, Gaussian

OTHERS = {
    "embedded": lambda: Embedded(normal(4, 2), normal(5, 2), normal(5)),
    "blocked": lambda: Blocked(normal(2, 5), torch.tensor([0, 1, 0, 1, 1]), 2),
}


def made(kind):
    if kind in OTHERS:
        return HMM(normal(4), normal(4, 4), OTHERS[kind]())
    return model(kind, v=5) if kind in KINDS else model_of_vectors(kind)


@pytest.mark.parametrize("kind", [*KINDS, *VECTORS, *OTHERS])
def test_a_model_comes_back(kind, tmp_path):
    hmm = made(kind)
    x = observations(hmm, 2, 7) if kind in VECTORS else words(2, 7, v=5)
    hmm.save(tmp_path / "model.safetensors")
    again = HMM.load(tmp_path / "model.safetensors")
    assert repr(again) == repr(hmm)
    assert torch.equal(again.log_prob(x), hmm.log_prob(x))
    assert [path.name for path in tmp_path.iterdir()] == ["model.safetensors"]


def test_views_and_gradients_are_saved_and_others_may_read(tmp_path):
    row = torch.zeros(1, requires_grad=True)
    hmm = HMM(row.expand(3), row.expand(3, 3), Gaussian(normal(3, 4).float()[:, ::2], row.exp().expand(3, 2)))
    hmm.save(str(tmp_path / "model"))
    again = HMM.load(str(tmp_path / "model"))
    assert torch.equal(again.emission.means, hmm.emission.means)
    (tmp_path / "other").touch()
    assert (tmp_path / "model").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_model_that_is_replaced_passes_on_its_mode(tmp_path):
    path = tmp_path / "model"
    (tmp_path / ".model.part").touch(0o600)  # of a process that was killed
    model("dense").save(path)
    (tmp_path / "other").touch()
    assert path.stat().st_mode == (tmp_path / "other").stat().st_mode
    path.chmod(0o600)
    model("dense").save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


class Own(Gaussian):
    pass


def test_errors_name_the_file(tmp_path):
    path = tmp_path / "model"
    with pytest.raises(DataError, match=r"model: is missing"):
        HMM.load(path)
    path.write_bytes(b"\x10\x00\x00\x00\x00\x00\x00\x00{not json.......")
    with pytest.raises(DataError, match=r"model: is damaged"):
        HMM.load(path)
    save_file({"initial": torch.zeros(3)}, path)
    with pytest.raises(DataError, match=r"model: is not a hidden Markov model of format 1"):
        HMM.load(path)
    form = {"format": 1, "transition": {"kind": "Dense"}, "emission": {"kind": "Unknown"}}
    save_file({"initial": torch.zeros(3)}, path, {"strukt.hmm": json.dumps(form)})
    with pytest.raises(DataError, match=r"model: is damaged"):
        HMM.load(path)
    with pytest.raises(ValueError, match="the emission is a Own; expected one of Categorical"):
        HMM(torch.zeros(3), torch.zeros(3, 3), Own(torch.zeros(3, 2), torch.ones(3, 2))).save(path)
    with pytest.raises(DataError, match="cannot be written"):
        model("dense").save(tmp_path / "no" / "folder")
