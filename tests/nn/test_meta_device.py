"""Layers made without memory, on the device "meta", and then given the weights of a saved model."""

from collections.abc import Callable

import pytest
import torch
from torch import nn

import strukt.nn
from strukt.nn.encoder_decoder import EncoderDecoder


def transducer() -> nn.Module:
    attention = strukt.nn.MeanFieldAttention(8, 8, size=5, iterations=2, damping=0.5)
    network = EncoderDecoder(strukt.nn.BiLSTM(6, 4), 6, 8, attention)
    return strukt.nn.SequenceTransducer(7, 6, network)


WORDS = torch.arange(10).remainder(7).view(2, 5)
LENGTHS = torch.tensor([5, 3])
VECTORS = torch.linspace(-1, 1, 60).view(2, 5, 6)

LAYERS: dict[str, tuple[Callable[[], nn.Module], tuple[torch.Tensor, ...]]] = {
    "mean-field encoder": (
        lambda: strukt.nn.MeanFieldEncoder(6, 4, channels=2, rank=2, root_labels=2, features=2),
        (VECTORS, LENGTHS),
    ),
    "mean-field attention": (lambda: strukt.nn.MeanFieldAttention(6, 6, 3), (VECTORS, VECTORS, LENGTHS)),
    "transducer": (transducer, (WORDS, LENGTHS, WORDS)),
    "transformer": (lambda: strukt.nn.Transformer(6, 8, heads=2, layers=1), (VECTORS, LENGTHS)),
    "convolution": (lambda: strukt.nn.GatedConvolution(6, 8), (VECTORS, LENGTHS)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_made_without_memory_and_loaded(name: str) -> None:
    make, inputs = LAYERS[name]
    saved = make().eval()
    with torch.device("meta"):
        model = make().eval()
    assert all(parameter.is_meta for parameter in model.parameters())
    model.load_state_dict(saved.state_dict(), assign=True)
    results = [m(*inputs) for m in (model, saved)]
    first, second = (r if isinstance(r, torch.Tensor) else r.context for r in results)
    torch.testing.assert_close(first, second)
