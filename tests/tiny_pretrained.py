"""Tiny random Hugging Face models with their tokenizers, saved to disk."""

from __future__ import annotations

from pathlib import Path

import tokenizers
import torch
import transformers

LETTERS = "abcdefghijklmnopqrstuvwxyz"
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *LETTERS, *(f"##{letter}" for letter in LETTERS)]


def save_tokenizer(folder):
    vocabulary = {piece: index for index, piece in enumerate(VOCABULARY)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=16,
    ).save_pretrained(folder)


KINDS = {
    "bert": (transformers.BertConfig, transformers.BertModel),
    "roberta": (transformers.RobertaConfig, transformers.RobertaModel),
}


def save(kind: str, folder: Path) -> None:
    """Saves a model of a kind, whose window is 16 pieces."""
    torch.manual_seed(0)
    config, model = KINDS[kind]
    sizes = {
        "vocab_size": len(VOCABULARY),
        "hidden_size": 8,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 16,
        "max_position_embeddings": 20,
        "pad_token_id": 0,
    }
    model(config(**sizes)).save_pretrained(folder)
    save_tokenizer(folder)
