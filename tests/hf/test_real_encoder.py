"""A head on real weights, in a folder that the environment variable STRUKT_PRETRAINED names (such as MiniLM)."""

import os

import pytest
import torch

pytest.importorskip("transformers", reason="heads on encoders of Hugging Face need transformers")
import transformers
from tests.hf import tiny_heads

from strukt.hf import StructuredHead, WordCollator, encode_words

FOLDER = os.environ.get("STRUKT_PRETRAINED", "")
pytestmark = pytest.mark.skipif(
    not os.path.isdir(FOLDER), reason="STRUKT_PRETRAINED names no folder with the weights of an encoder"
)
WORDS = ["Ada", "Lovelace", "visited", "Constantinople", "in", "springtime", "."]


@pytest.mark.parametrize("head", ["crf", "biaffine"])
def test_it_learns_a_sentence_and_is_the_same_when_loaded(head, tmp_path):
    tokenizer = transformers.AutoTokenizer.from_pretrained(FOLDER)
    labels = {
        "crf": {"tags": [1, 2, 0, 3, 0, 0, 0]},
        "biaffine": {"heads": [3, 1, 0, 3, 6, 3, 3], "relations": [1, 2, 0, 3, 4, 1, 2]},
    }[head]
    batch = WordCollator(tokenizer)([encode_words(tokenizer, WORDS, **labels)])
    torch.manual_seed(0)
    model = StructuredHead.from_encoder(FOLDER, tiny_heads.TAGS, head, arc_size=50, label_size=20).train()
    groups = [
        {"params": model.encoder.parameters(), "lr": 1e-4},
        {"params": model.head.parameters(), "lr": 1e-2},
    ]
    optimizer = torch.optim.AdamW(groups)
    for _ in range(15):
        optimizer.zero_grad()
        model(**batch).loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        learned = model(**batch)
    assert torch.equal(learned.predictions, batch["labels"])
    model.save_pretrained(tmp_path)
    with torch.no_grad():
        loaded = StructuredHead.from_pretrained(tmp_path)(**batch)
    assert torch.equal(loaded.loss, learned.loss)
    assert torch.equal(loaded.predictions, learned.predictions)
