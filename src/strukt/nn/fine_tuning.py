"""Fine-tuning of pretrained models: frozen layers, learning rates, adapters (LoRA), and gradient checkpointing."""

from __future__ import annotations

import contextlib
import re
import warnings
from typing import Any

from torch import nn

from strukt.errors import MissingExtraError, SettingError

_BELOW = re.compile("emb|wpe")
"""Matches the names of parameters below the first layer: embeddings of words and positions, and their norm."""


def depths(model: Any) -> dict[str, int]:
    """Return the depth of each parameter by name: 0 for embeddings, 1 for the lowest layer, and so on.

    Parameters outside the embeddings and the layers have the depth of the last layer. If layers share their
    weights, as in ALBERT, they cannot be distinguished, and all parameters have depth 0.

    Args:
        model: A Hugging Face model. Lists of modules with ``config.num_hidden_layers`` entries hold its layers.

    Examples:
        >>> from transformers import BertConfig, BertModel
        >>> sizes = {"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 2, "intermediate_size": 8}
        >>> result = depths(BertModel(BertConfig(vocab_size=5, **sizes)))
        >>> result["embeddings.word_embeddings.weight"], result["encoder.layer.1.output.dense.weight"]
        (0, 2)
    """
    layer_of = {
        parameter: number
        for layers in _layers(model)
        for number, layer in enumerate(layers, 1)
        for parameter in layer.parameters()
    }
    pieces: set[nn.Parameter] = set()
    with contextlib.suppress(NotImplementedError):  # several embedding tables, which `_BELOW` finds by name
        pieces |= set(model.get_input_embeddings().parameters())
    highest = max(layer_of.values(), default=0)
    return {
        name: layer_of.get(parameter, 0 if parameter in pieces or _BELOW.search(name) else highest)
        for name, parameter in model.named_parameters()
    }


def _layers(model: Any) -> list[nn.ModuleList]:
    """Return the outermost lists of modules with one entry for each layer; XLM has several, other models one."""
    lists = {name: module for name, module in model.named_modules() if isinstance(module, nn.ModuleList)}
    count = getattr(model.config, "num_hidden_layers", 0)
    return [
        modules
        for name, modules in lists.items()
        if len(modules) == count and not any(name.startswith(f"{other}.") for other in lists)
    ]


def prepared(model: Any, frozen: int | None = 0, lora: int = 0, recomputes: bool = False) -> Any:
    """Prepare a model for fine-tuning: freeze layers, add adapters (LoRA), enable recomputation.

    Args:
        model: A Hugging Face model, which is modified.
        frozen: Number of lowest layers to freeze, together with their adapters and the embeddings; 0 to freeze
            nothing, None to freeze all parameters, including all adapters.
        lora: Rank of the adapters of all linear layers, which are trained in place of the layers (Hu et al. 2021,
            "LoRA: Low-rank adaptation of large language models"); 0 for no adapters.
        recomputes: Whether to recompute activations in the backward pass (gradient checkpointing), which takes
            more time and less memory.

    Returns:
        The model; with adapters, the model of peft that contains it.

    Raises:
        SettingError: If `frozen` or `lora` is below 0, the model has fewer than `frozen` layers, its layers cannot
            be distinguished, or it does not support recomputation or adapters.
        MissingExtraError: If `lora` is not 0, and peft (extra `encoders`) is not installed.

    Examples:
        >>> from transformers import BertConfig, BertModel
        >>> sizes = {"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 2, "intermediate_size": 8}
        >>> model = prepared(BertModel(BertConfig(vocab_size=9, **sizes)), frozen=1)
        >>> learned = [name for name, parameter in model.named_parameters() if parameter.requires_grad]
        >>> learned[0], learned[-1]  # the first layer, encoder.layer.0, is frozen
        ('encoder.layer.1.attention.self.query.weight', 'pooler.dense.bias')
    """
    if recomputes:
        recompute(model)
    model = adapt(model, lora) if lora else model
    freeze(model, frozen)
    return model


def freeze(model: Any, layers: int | None) -> None:
    """Freeze the embeddings and the lowest layers.

    Args:
        model: A Hugging Face model, which is modified.
        layers: Number of layers to freeze; 0 to freeze nothing, None to freeze all parameters.

    Raises:
        SettingError: If `layers` is below 0, the model has fewer layers, or its layers cannot be distinguished.
    """
    if layers is not None and layers < 0:
        raise SettingError(f"frozen is {layers}; expected 0 or more")
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
    """Return a factor of the learning rate for each parameter, by name, with layer-wise decay.

    Args:
        model: A Hugging Face model.
        rate: The factor of the last layer.
        decay: The rate of each layer divided by the rate of the layer above it (Howard and Ruder 2018); 1 for the
            same rate everywhere.

    Raises:
        SettingError: If `decay` is not 1, and the layers cannot be distinguished.
    """
    heights = depths(model)
    highest = _highest(model, heights, f"decay is {decay}; expected 1") if decay != 1 else 0
    return {name: rate * decay ** (highest - height) for name, height in heights.items()}


def _highest(model: Any, heights: dict[str, int], wrong: str) -> int:
    """Return the depth of the last layer; without distinct layers, raise `SettingError` with the text `wrong`."""
    highest = max(heights.values(), default=0)
    if highest == 0:
        raise SettingError(
            f"{wrong}: the layers of the pretrained model ({model.config.model_type}) share their weights, "
            "or cannot be told apart"
        )
    return highest


def adapt(model: Any, rank: int) -> Any:
    """Return the model with a low-rank adapter (LoRA) for each of its linear layers; only the adapters learn.

    Source: Hu et al. (2021), "LoRA: Low-rank adaptation of large language models". Adapters start without any
    effect, and their outputs are multiplied by 2 (``lora_alpha`` is twice the rank).

    Args:
        model: A Hugging Face model, which is modified.
        rank: Rank of the adapters, at least 1.

    Returns:
        The model of peft that contains the given model.

    Raises:
        SettingError: If the rank is less than 1, or the model does not support adapters.
        MissingExtraError: If peft, of the extra `encoders`, is not installed.
    """
    try:
        import peft
    except ImportError as error:
        raise MissingExtraError("peft", "encoders") from error
    if rank < 1:
        raise SettingError(f"lora is {rank}; expected 1 or more")
    options: Any = peft.LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear")
    with warnings.catch_warnings():  # peft uses deprecated names of transformers
        warnings.simplefilter("ignore", FutureWarning)
        warnings.filterwarnings("ignore", "fan_in_fan_out")  # peft then sets it itself
        try:
            return peft.get_peft_model(model, options)
        except ValueError as error:
            reason = " ".join(str(error).split())
            raise SettingError(f"lora is {rank}; expected 0 for {type(model).__name__}: {reason}") from error


def recompute(model: Any) -> None:
    """Enable gradient checkpointing: recompute activations in the backward pass, for less memory and more time.

    Args:
        model: A Hugging Face model, which is modified.

    Raises:
        SettingError: If the model does not support gradient checkpointing.
    """
    if not model.supports_gradient_checkpointing:
        raise SettingError(
            f"recompute is true; expected false: {type(model).__name__} does not support gradient checkpointing"
        )
    enable = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable
    enable({"use_reentrant": False})
