"""Pictures of the mean-field attention of a recurrent language model to earlier words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from strukt.errors import SettingError
from strukt.nn import MeanFieldAttention
from strukt.nn.recurrent import RecurrentLanguageModel
from strukt.tasks.common import attention_pictures
from strukt.viz.pictures.interactions import Spanning
from strukt.viz.svg import Picture

BEGINNING = "·"
"""Symbol in pictures for the beginning of a text, before its first word."""


def pictures_of_step(
    source: nn.Module, forms: Sequence[str], words: Tensor, step: int, spanning: Spanning
) -> Mapping[str, Picture]:
    """Draw mean-field attention to the words before the word at `step`; return no pictures for other models.

    Args:
        source: The network of the language model.
        forms: The n words of a text.
        words: ``(n,)``, their indices, on the device of the network.
        step: The place of a word, counted from 1.
        spanning: The kind of the spanning tree.

    Raises:
        SettingError: If `step` is not from 2 to the number of words.
    """
    if not isinstance(source, RecurrentLanguageModel) or not isinstance(source.attention, MeanFieldAttention):
        return {}
    if not 2 <= step <= len(forms):
        raise SettingError(f"the step is {step}; expected a word from 2 to {len(forms)}")
    query, keys, places = source.look_back(torch.cat([source.beginning(1).word, words[: step - 1]])[None])
    seen = [BEGINNING, *forms][places]
    return attention_pictures.of_mean_field(
        source.attention, query, keys, seen, forms[step - 1], spanning=spanning
    )
