"""Fine-tuning of pretrained models: what learns, at what rate, and that nothing changes before."""

from functools import cache

import pytest
import torch

from strukt.errors import SettingError
from strukt.nn import fine_tuning

pytest.importorskip("transformers")
import transformers
from tests import tiny_pretrained

from strukt.nn.pretrained import PretrainedEncoder

SENTENCES = [["abc", "d"], ["ef"]]


LAYERED = ["bert", "roberta", "electra", "gpt2", "xlm", "t5", "bart"]
LOWEST = ("emb", "wte", "wpe", "shared")
"""What is in the names of all that stands below the layers of these."""


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The folder of a model by its kind."""

    @cache
    def saved(kind):
        folder = tmp_path_factory.mktemp(kind)
        tiny_pretrained.save(kind, folder)
        return folder

    return saved


@pytest.fixture(params=LAYERED)
def folder(request, folders):
    return folders(request.param)


def made(folder, **options):
    encoder = PretrainedEncoder.load(folder)
    encoder.model = fine_tuning.prepared(encoder.model, **options)
    return encoder


def encode(encoder):
    return encoder(encoder.inputs(SENTENCES), torch.tensor([2, 1]))


def learning(encoder):
    return {name for name, parameter in encoder.model.named_parameters() if parameter.requires_grad}


def test_the_vectors_of_pieces_stand_lowest_and_all_else_with_the_last_layer(folder):
    model = PretrainedEncoder.load(folder).model
    rates = fine_tuning.rates(model, 0.5, 0.1)
    for name, height in fine_tuning.depths(model).items():
        layer = next((int(part) for part in name.split(".") if part.isdigit()), None)
        wanted = (0 if any(part in name for part in LOWEST) else 2) if layer is None else layer + 1
        assert height == wanted, name
        assert rates[name] == pytest.approx((0.005, 0.05, 0.5)[height])
    assert set(fine_tuning.depths(model).values()) == {0, 1, 2}


def test_heights_do_not_change_by_adapters(folder):
    pytest.importorskip("peft")
    plain, adapted = (fine_tuning.depths(made(folder, lora=lora).model) for lora in (0, 2))
    found = {
        name.replace("base_model.model.", "").replace("base_layer.", ""): adapted[name] for name in adapted
    }
    assert {name: found[name] for name in plain} == plain
    added = found.keys() - plain
    assert all("lora_" in name for name in added)
    assert {found[name] for name in added} >= {1, 2}


def test_layers_that_share_their_weights_cannot_be_told_apart(folders):
    share = r": the layers of the pretrained model \(albert\) share their weights"
    with pytest.raises(SettingError, match=f"frozen is 1; expected 0{share}"):
        made(folders("albert"), frozen=1)
    model = made(folders("albert")).model
    with pytest.raises(SettingError, match=f"decay is 0.5; expected 1{share}"):
        fine_tuning.rates(model, 1.0, 0.5)
    assert set(fine_tuning.rates(model, 0.5, 1.0).values()) == {0.5}
    assert learning(made(folders("albert"), frozen=None)) == set()


@pytest.mark.parametrize("layers", [0, 1, 2, None])
def test_the_lowest_layers_are_frozen(folder, layers):
    encoder = made(folder, frozen=layers)
    heights = fine_tuning.depths(encoder.model)
    top = max(heights.values()) if layers is None else layers
    expected = {name for name, height in heights.items() if layers == 0 or height > top}
    assert learning(encoder) == expected


def test_only_layers_that_there_are_can_be_frozen(folders):
    with pytest.raises(SettingError, match="frozen is 3; expected at most 2, the layers of the pretrained model"):
        made(folders("bert"), frozen=3)
    with pytest.raises(SettingError, match="frozen is -1; expected 0 or more"):
        made(folders("bert"), frozen=-1)


def test_adapters_begin_without_effect_and_learn_alone(folder):
    pytest.importorskip("peft")
    plain, adapted = made(folder).eval(), made(folder, lora=2).eval()
    torch.testing.assert_close(encode(adapted), encode(plain))
    assert learning(adapted)
    assert all("lora_" in name for name in learning(adapted))
    encode(adapted).sum().backward()
    assert any(
        parameter.grad is not None and parameter.grad.any() for parameter in adapted.model.parameters()
    )


@pytest.mark.parametrize("kind", [kind for kind in LAYERED if kind != "xlm"])
def test_what_is_computed_again_is_the_same(kind, folders):
    plain, again = made(folders(kind)), made(folders(kind), recomputes=True)
    for encoder in (plain, again):
        encoder.train()
        for module in encoder.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        torch.manual_seed(0)  # some drop without a module
        encode(encoder).square().sum().backward()
    for (name, first), second in zip(plain.model.named_parameters(), again.model.parameters(), strict=True):
        if first.grad is not None:
            torch.testing.assert_close(second.grad, first.grad, msg=name)


@pytest.mark.parametrize("kind", ["albert", "xlm"])
def test_what_cannot_be_computed_again_is_refused(kind, folders):
    with pytest.raises(
        SettingError, match=r"recompute is true; expected false: [A-Z]+[a-z]*Model does not support"
    ):
        made(folders(kind), recomputes=True)


def test_a_model_without_a_place_for_adapters_is_refused():
    pytest.importorskip("peft")
    sizes = {"vocab_size": 8, "hidden_size": 8, "num_hidden_layers": 1}
    mamba = transformers.MambaModel(transformers.MambaConfig(**sizes))
    with pytest.raises(SettingError, match="lora is 2; expected 0 for MambaModel: "):
        fine_tuning.adapt(mamba, 2)
    with pytest.raises(SettingError, match="lora is 0; expected 1 or more"):
        fine_tuning.adapt(mamba, 0)
