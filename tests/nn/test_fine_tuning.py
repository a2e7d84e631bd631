"""Fine-tuning of pretrained models: what learns, at what rate, and that nothing changes before."""

import pytest
import torch

from strukt.errors import SettingError
from strukt.nn import fine_tuning

pytest.importorskip("transformers")
from tests import tiny_pretrained

from strukt.nn.pretrained import PretrainedEncoder

SENTENCES = [["abc", "d"], ["ef"]]


@pytest.fixture(scope="module", params=["bert", "roberta"])
def folder(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    tiny_pretrained.save(request.param, folder)
    return folder


def made(folder, **options):
    encoder = PretrainedEncoder.load(folder)
    encoder.model = fine_tuning.prepared(encoder.model, **options)
    return encoder


def encode(encoder):
    return encoder(encoder.inputs(SENTENCES), torch.tensor([2, 1]))


def learning(encoder):
    return {name for name, parameter in encoder.model.named_parameters() if parameter.requires_grad}


def test_the_vectors_of_pieces_stand_lowest_and_all_else_with_the_last_layer(folder):
    heights = fine_tuning.depths(PretrainedEncoder.load(folder).model)
    for name, height in heights.items():
        wanted = {"embeddings": 0, "encoder": 1 + ("layer.1." in name), "pooler": 2}
        assert height == wanted[name.split(".")[0]], name
    rates = fine_tuning.rates(PretrainedEncoder.load(folder).model, 0.5, 0.1)
    assert rates["encoder.layer.1.output.dense.weight"] == 0.5
    assert rates["encoder.layer.0.output.dense.weight"] == pytest.approx(0.05)
    assert rates["embeddings.word_embeddings.weight"] == pytest.approx(0.005)


@pytest.mark.parametrize("layers", [0, 1, 2, None])
def test_the_lowest_layers_are_frozen(folder, layers):
    encoder = made(folder, frozen=layers)
    heights = fine_tuning.depths(encoder.model)
    top = max(heights.values()) if layers is None else layers
    expected = {name for name, height in heights.items() if layers == 0 or height > top}
    assert learning(encoder) == expected


def test_more_layers_than_there_are_cannot_be_frozen(folder):
    with pytest.raises(SettingError, match="frozen is 3; expected at most 2"):
        made(folder, frozen=3)


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


def test_what_is_computed_again_is_the_same(folder):
    plain, again = made(folder), made(folder, recomputes=True)
    for encoder in (plain, again):
        encoder.train()
        for module in encoder.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        encode(encoder).square().sum().backward()
    for (name, first), second in zip(plain.model.named_parameters(), again.model.parameters(), strict=True):
        if first.grad is not None:
            torch.testing.assert_close(second.grad, first.grad, msg=name)
