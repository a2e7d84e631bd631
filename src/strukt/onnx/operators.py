"""Exportable replacements of layers that PyTorch cannot export to ONNX: LSTMs and fused attention."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from strukt.nn import LSTM, BiLSTM
from strukt.nn.pretrained import PretrainedEncoder


def use_operators(model: nn.Module) -> None:
    """Replace all LSTMs by ONNX operators, because PyTorch would export LSTMs for the length of the example only.

    Pretrained models are switched from fused attention, which cannot be exported in full, to matrix products.

    Args:
        model: The network to export, which is modified; afterwards, it can be exported, but not run.

    Examples:
        >>> model = nn.Sequential(BiLSTM(8, 16, layers=2))
        >>> use_operators(model)
        >>> [tuple(layer.states.shape) for layer in model[0].layers]  # directions, gates of units, units
        [(2, 64, 16), (2, 64, 16)]
    """
    for name, module in list(model.named_modules()):
        if isinstance(module, (LSTM, BiLSTM)):
            model.set_submodule(name, _Operators(module))
        if isinstance(module, PretrainedEncoder):
            module.model.set_attn_implementation("eager")


class _Operators(nn.Module):
    """A stack of LSTM layers as ONNX operators, which read the lengths of the sequences."""

    def __init__(self, lstms: LSTM | BiLSTM) -> None:
        super().__init__()
        self.layers = nn.ModuleList(_Operator(list(layer.children())) for layer in lstms.layers)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Map `(batch, n, inputs)` to `(batch, n, size)`."""
        x = x.transpose(0, 1)
        for layer in self.layers:
            x = layer(x, lengths.int())
        return x.transpose(0, 1)


class _Operator(nn.Module):
    """An LSTM layer as an ONNX operator: reads forwards and, if bidirectional, backwards, too."""

    inputs: Tensor
    states: Tensor
    biases: Tensor

    def __init__(self, directions: Sequence[nn.Module]) -> None:
        super().__init__()
        weights = [[_reordered(weight.detach()) for weight in lstm.parameters()] for lstm in directions]
        inputs, states, *biases = (torch.stack(both) for both in zip(*weights, strict=True))
        for name, weight in (("inputs", inputs), ("states", states), ("biases", torch.cat(biases, 1))):
            self.register_buffer(name, weight)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Map `(n, batch, inputs)` to `(n, batch, directions * hidden)`."""
        n, batch, _ = x.shape
        directions, _, hidden = self.states.shape
        outputs = torch.onnx.ops.symbolic(
            "LSTM",
            (x, self.inputs, self.states, self.biases, lengths),
            {"hidden_size": hidden, "direction": ("forward", "bidirectional")[directions - 1]},
            dtype=x.dtype,
            shape=(n, directions, batch, hidden),
        )
        return outputs.transpose(1, 2).flatten(2)


def _reordered(weight: Tensor) -> Tensor:
    """Reorder the gates of a weight from PyTorch's order (input, forget, cell, output) to ONNX's (i, o, f, c)."""
    into, forget, cell, out = weight.chunk(4)
    return torch.cat([into, out, forget, cell])
