"""Small heads on tiny random encoders, and sentences for them."""

from __future__ import annotations

import functools
import tempfile

import tokenizers
import torch
import transformers
from tests import tiny_pretrained

from strukt.hf import StructuredHead, StructuredHeadConfig, WordCollator, encode_words

TAGS = ["O", "B-X", "I-X", "B-Y", "I-Y"]
HEADS = ("crf", "biaffine", "span", "bits")
SIZES = {"hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 1, "intermediate_size": 16}
ENCODER = {
    "model_type": "bert",
    "vocab_size": len(tiny_pretrained.VOCABULARY),
    "max_position_embeddings": 20,
    **SIZES,
}
SMALL = {"arc_size": 6, "span_size": 6, "label_size": 4, "bits": 5}

SENTENCES = [["abc", "d", "ef", "g"], ["hi"], ["jk", "lmn"], ["a", "b", "c", "d", "e", "f", "g"]]
LABELS = {
    "crf": [{"tags": [1, 2, 0, 3]}, {"tags": [0]}, {"tags": [3, 4]}, {"tags": [0, 0, 1, 2, 2, 0, 3]}],
    "biaffine": [
        {"heads": [2, 0, 2, 3], "relations": [0, 1, 2, 3]},
        {"heads": [0], "relations": [4]},
        {"heads": [2, 0], "relations": [1, 1]},
        {"heads": [3, 3, 0, 3, 6, 4, 4], "relations": [0, 1, 2, 3, 4, 0, 1]},
    ],
    "span": [
        {"spans": [(0, 4, 0), (0, 2, 1), (3, 4, 2)]},
        {"spans": []},
        {"spans": [(1, 2, 3)]},
        {"spans": [(2, 7, 4), (2, 4, 0)]},
    ],
}
LABELS["bits"] = LABELS["crf"]


@functools.cache
def tokenizer(side: str = "right"):
    """A fast tokenizer of letters, whose window is 16 pieces."""
    with tempfile.TemporaryDirectory() as folder:
        tiny_pretrained.save_tokenizer(folder)
        loaded = transformers.AutoTokenizer.from_pretrained(folder, padding_side=side)
    loaded.backend_tokenizer.decoder = tokenizers.decoders.WordPiece()
    return loaded


def config(head: str, **options) -> StructuredHeadConfig:
    names = {"id2label": dict(enumerate(TAGS)), "label2id": {name: index for index, name in enumerate(TAGS)}}
    return StructuredHeadConfig(options.pop("encoder", ENCODER), head, **{**SMALL, **names, **options})


def model(head: str, seed: int = 0, **options) -> StructuredHead:
    """A model in evaluation whose weights are all random: those that begin at 0 make all structures alike."""
    torch.manual_seed(seed)
    built = StructuredHead(config(head, **options)).eval()
    with torch.no_grad():
        for parameter in built.head.parameters():
            parameter.normal_(std=0.5)
    return built


def encoded(head: str, sentences=SENTENCES, labels=None):
    labels = LABELS[head] if labels is None else labels
    return [encode_words(tokenizer(), words, **given) for words, given in zip(sentences, labels, strict=True)]


def batch(head: str, side: str = "right", **options):
    return WordCollator(tokenizer(side))(encoded(head, **options))
