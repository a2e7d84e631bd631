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


SIZES = {"vocab_size": len(VOCABULARY), "pad_token_id": 0}
PLAIN = {
    **SIZES,
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 20,
}
GPT2 = {**SIZES, "n_embd": 8, "n_layer": 2, "n_head": 2, "n_positions": 20}
XLM = {
    "vocab_size": len(VOCABULARY),
    "emb_dim": 8,
    "n_layers": 2,
    "n_heads": 2,
    "max_position_embeddings": 20,
}
T5 = {**SIZES, "d_model": 8, "d_kv": 4, "d_ff": 16, "num_layers": 2, "num_heads": 2}
BART = {**SIZES, "d_model": 8, "max_position_embeddings": 20} | {
    f"{part}_{name}": size
    for part in ("encoder", "decoder")
    for name, size in (("layers", 2), ("attention_heads", 2), ("ffn_dim", 16))
}
KINDS = {
    "bert": PLAIN,
    "roberta": PLAIN,
    "albert": {**PLAIN, "embedding_size": 4},
    "electra": {**PLAIN, "embedding_size": 4},
    "gpt2": GPT2,
    "xlm": {**XLM, "pad_index": 0},
    "t5": T5,
    "bart": BART,
    "reformer": {**PLAIN, "attention_head_size": 4, "axial_pos_embds": False, "attn_layers": ["local"]},
}
"""The options of a model of each kind; all but Reformer and ALBERT have two layers that can be told apart."""


def save(kind: str, folder: Path) -> None:
    """Saves a model of a kind, whose window is 16 pieces."""
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(kind, **KINDS[kind])
    transformers.AutoModel.from_config(config).save_pretrained(folder)
    save_tokenizer(folder)
