"""How a pretrained model learns: which of its layers, at what rate, by adapters, in how much memory."""

from __future__ import annotations

import contextlib
import re
import warnings
from typing import Any

from torch import nn

from strukt.errors import MissingExtraError, SettingError

_BELOW = re.compile("emb|wpe")
"""What the names of all that stands below the first layer have in common: positions and norms of embeddings."""


def depths(model: Any) -> dict[str, int]:
    """How high each parameter stands: 0 for the vectors of pieces, 1 for the lowest layer, and so on.

    What is neither in these nor in a layer stands as high as the last layer. Where layers share their weights, as
    in ALBERT, they cannot be told apart, and all stands at 0.

    Args:
        model: A Hugging Face model. Its layers are in lists of modules, as long as its configuration says.

    Examples:
        >>> from transformers import BertConfig, BertModel
        >>> sizes = {"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 2, "intermediate_size": 8}
        >>> found = depths(BertModel(BertConfig(vocab_size=5, **sizes)))
        >>> found["embeddings.word_embeddings.weight"], found["encoder.layer.1.output.dense.weight"]
        (0, 2)
    """
    layer_of = {
        parameter: number
        for layers in _layers(model)
        for number, layer in enumerate(layers, 1)
        for parameter in layer.parameters()
    }
    pieces: set[nn.Parameter] = set()
    with contextlib.suppress(NotImplementedError):  # of models with several tables, whose names tell
        pieces |= set(model.get_input_embeddings().parameters())
    highest = max(layer_of.values(), default=0)
    return {
        name: layer_of.get(parameter, 0 if parameter in pieces or _BELOW.search(name) else highest)
        for name, parameter in model.named_parameters()
    }


def _layers(model: Any) -> list[nn.ModuleList]:
    """The outermost lists of modules that have one for each layer; XLM has several, others one."""
    lists = {name: module for name, module in model.named_modules() if isinstance(module, nn.ModuleList)}
    count = getattr(model.config, "num_hidden_layers", 0)
    return [
        found
        for name, found in lists.items()
        if len(found) == count and not any(name.startswith(f"{other}.") for other in lists)
    ]


def prepared(model: Any, frozen: int | None = 0, lora: int = 0, recomputes: bool = False) -> Any:
    """The model with what is not to learn frozen, and with what is to learn added.

    Args:
        model: A Hugging Face model, which is changed.
        frozen: See `freeze`.
        lora: Rank for `adapt`; 0 for no adapters.
        recomputes: Whether to `recompute`.

    Raises:
        SettingError: The model has fewer layers than are to be frozen, or is not made for
            recomputing or adapters.
        MissingExtraError: peft is not installed.
    """
    if recomputes:
        recompute(model)
    model = adapt(model, lora) if lora else model
    freeze(model, frozen)
    return model


def freeze(model: Any, layers: int | None) -> None:
    """Keep the vectors of pieces and the lowest layers as they are.

    Args:
        model: A Hugging Face model.
        layers: How many layers; 0 to let all learn, None to freeze all that there is.

    Raises:
        SettingError: The model has fewer layers, or they cannot be told apart.
    """
    heights = depths(model)
    highest = _highest(model, heights, f"frozen is {layers}; expected 0") if layers else 0
    if layers is not None and layers > highest:
        raise SettingError(
            f"frozen is {layers}; expected at most {highest}, the layers of the pretrained model"
        )
    for name, parameter in model.named_parameters():
        if layers is None or (layers > 0 and heights[name] <= layers):
            parameter.requires_grad_(False)


def rates(model: Any, rate: float, decay: float) -> dict[str, float]:
    """The share of the learning rate that each parameter has.

    Args:
        model: A Hugging Face model.
        rate: The share of the last layer.
        decay: The share of the rate of each layer that the layer below has (Howard and Ruder 2018).

    Raises:
        SettingError: The rates of layers are to differ that cannot be told apart.
    """
    heights = depths(model)
    highest = _highest(model, heights, f"decay is {decay}; expected 1") if decay != 1 else 0
    return {name: rate * decay ** (highest - height) for name, height in heights.items()}


def _highest(model: Any, heights: dict[str, int], wrong: str) -> int:
    """The height of the last layer; what is `wrong` if there are no layers."""
    highest = max(heights.values(), default=0)
    if highest == 0:
        raise SettingError(
            f"{wrong}: the layers of the pretrained model ({model.config.model_type}) share their weights, "
            "or cannot be told apart"
        )
    return highest


def adapt(model: Any, rank: int) -> Any:
    """The model with an adapter of low rank beside each of its matrices, which learns in place of all else.

    Source: Hu et al. (2021), "LoRA: Low-rank adaptation of large language models". At first the adapters change
    nothing.

    Args:
        model: A Hugging Face model.
        rank: Of the adapters.

    Raises:
        SettingError: The model has no place for adapters.
        MissingExtraError: peft is not installed.
    """
    try:
        import peft
    except ImportError as error:
        raise MissingExtraError("peft", "encoders") from error
    options: Any = peft.LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear")
    with warnings.catch_warnings():  # it asks transformers by old names
        warnings.simplefilter("ignore", FutureWarning)
        warnings.filterwarnings("ignore", "fan_in_fan_out")  # which it then sets itself
        try:
            return peft.get_peft_model(model, options)
        except ValueError as error:
            reason = " ".join(str(error).split())
            raise SettingError(f"lora is {rank}; expected 0 for {type(model).__name__}: {reason}") from error


def recompute(model: Any) -> None:
    """Compute what layers hold a second time for gradients, instead of keeping it: a third more time, less memory.

    Args:
        model: A Hugging Face model.

    Raises:
        SettingError: The model cannot do so.
    """
    if not model.supports_gradient_checkpointing:
        raise SettingError(
            f"recompute is true; expected false: {type(model).__name__} has to keep what its layers hold"
        )
    enable = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable
    enable({"use_reentrant": False})
