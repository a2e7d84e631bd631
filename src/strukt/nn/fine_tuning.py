"""How a pretrained model learns: which of its layers, at what rate, by adapters, in how much memory."""

from __future__ import annotations

import re
import warnings
from typing import Any

from torch import nn

from strukt.errors import MissingExtraError, SettingError

_NUMBER = re.compile(r"(?:^|\.)(?:layers?|h|blocks?)\.(\d+)\.")


def depths(model: nn.Module) -> dict[str, int]:
    """How high each parameter stands: 0 for the vectors of pieces, 1 for the lowest layer, and so on.

    What is neither in these nor in a layer stands as high as the last layer.

    Args:
        model: A Hugging Face model, whose layers are numbered in the names of its parameters.

    Examples:
        >>> layers = nn.ModuleList(nn.Linear(2, 2, bias=False) for _ in range(2))
        >>> model = nn.ModuleDict({"embeddings": nn.Embedding(3, 2), "layer": layers, "norm": nn.LayerNorm(2)})
        >>> depths(model)["embeddings.weight"], depths(model)["layer.1.weight"], depths(model)["norm.bias"]
        (0, 2, 2)
    """
    numbers = {name: _NUMBER.search(name) for name, _ in model.named_parameters()}
    highest = max((int(found[1]) + 1 for found in numbers.values() if found), default=0)
    return {
        name: int(found[1]) + 1
        if found
        else 0
        if "embed" in name or "wte" in name or "wpe" in name
        else highest
        for name, found in numbers.items()
    }


def prepared(model: nn.Module, frozen: int | None = 0, lora: int = 0, recomputes: bool = False) -> nn.Module:
    """The model with what is not to learn frozen, and with what is to learn added.

    Args:
        model: A Hugging Face model, which is changed.
        frozen: See `freeze`.
        lora: Rank for `adapt`; 0 for no adapters.
        recomputes: Whether to `recompute`.

    Raises:
        SettingError: The model has fewer layers than are to be frozen.
        MissingExtraError: peft is not installed.
    """
    if recomputes:
        recompute(model)
    model = adapt(model, lora) if lora else model
    freeze(model, frozen)
    return model


def freeze(model: nn.Module, layers: int | None) -> None:
    """Keep the vectors of pieces and the lowest layers as they are.

    Args:
        model: A Hugging Face model.
        layers: How many layers; 0 to let all learn, None to freeze all that there is.

    Raises:
        SettingError: The model has fewer layers.
    """
    heights = depths(model)
    highest = max(heights.values(), default=0)
    if layers is not None and layers > highest:
        raise SettingError(
            f"frozen is {layers}; expected at most {highest}, the layers of the pretrained model"
        )
    for name, parameter in model.named_parameters():
        if layers is None or (layers > 0 and heights[name] <= layers):
            parameter.requires_grad_(False)


def rates(model: nn.Module, rate: float, decay: float) -> dict[str, float]:
    """The share of the learning rate that each parameter has.

    Args:
        model: A Hugging Face model.
        rate: The share of the last layer.
        decay: The share of the rate of each layer that the layer below has (Howard and Ruder 2018).
    """
    heights = depths(model)
    highest = max(heights.values(), default=0)
    return {name: rate * decay ** (highest - height) for name, height in heights.items()}


def adapt(model: nn.Module, rank: int) -> nn.Module:
    """The model with an adapter of low rank beside each of its matrices, which learns in place of all else.

    Source: Hu et al. (2021), "LoRA: Low-rank adaptation of large language models". At first the adapters change
    nothing.

    Args:
        model: A Hugging Face model.
        rank: Of the adapters.

    Raises:
        MissingExtraError: peft is not installed.
    """
    try:
        import peft
    except ImportError as error:
        raise MissingExtraError("peft", "encoders") from error
    options: Any = peft.LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear")
    with warnings.catch_warnings():  # it asks transformers by old names
        warnings.simplefilter("ignore", FutureWarning)
        adapted: nn.Module = peft.get_peft_model(model, options)
    return adapted


def recompute(model: Any) -> None:
    """Compute what layers hold a second time for gradients, instead of keeping it: a third more time, less memory.

    Args:
        model: A Hugging Face model.
    """
    enable = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable
    enable({"use_reentrant": False})
