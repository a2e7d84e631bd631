"""A tagger on an encoder of Hugging Face: a CRF head, the Trainer of transformers, and its pipeline.

The encoder is small and random, so that nothing is downloaded; give `from_encoder` a name for a pretrained one.
Requires `pip install "strukt[hf]"`.
"""

import tempfile

import datasets
import tokenizers
import transformers

from strukt.hf import StructuredHead, WordCollator, encode_words

tags = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
text = """Ada/B-PER Lovelace/I-PER visits/O Rome/B-LOC
Alan/B-PER Turing/I-PER likes/O New/B-LOC York/I-LOC
Grace/B-PER visits/O Oslo/B-LOC
New/B-LOC York/I-LOC likes/O Grace/B-PER Hopper/I-PER"""
sentences = [[pair.split("/") for pair in line.split()] for line in text.splitlines()]
forms = sorted({word for sentence in sentences for word, _ in sentence})
vocabulary = {form: index for index, form in enumerate(["[PAD]", "[UNK]", *forms])}
words = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, "[UNK]"))
words.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
tokenizer = transformers.PreTrainedTokenizerFast(
    tokenizer_object=words, pad_token="[PAD]", unk_token="[UNK]", model_max_length=64
)
transformers.set_seed(0)
sizes = transformers.BertConfig(
    vocab_size=len(vocabulary), hidden_size=32, num_hidden_layers=1,
    num_attention_heads=2, intermediate_size=64,
)  # fmt: skip
encoder = transformers.BertModel(sizes)

rows = []
for sentence in sentences:
    labels = [tags.index(tag) for _, tag in sentence]
    rows.append(encode_words(tokenizer, [word for word, _ in sentence], tags=labels))
model = StructuredHead.from_encoder(encoder, tags, head="crf", constraints="BIO")
arguments = transformers.TrainingArguments(
    tempfile.mkdtemp(), max_steps=60, learning_rate=0.01, save_strategy="no",
    report_to=[], use_cpu=True, disable_tqdm=True, dataloader_pin_memory=False,
)  # fmt: skip
trainer = transformers.Trainer(
    model,
    arguments,
    train_dataset=datasets.Dataset.from_list(rows),
    data_collator=WordCollator(tokenizer),
)
trainer.train()

ner = transformers.pipeline(
    "token-classification",
    model=model,
    tokenizer=tokenizer,
    aggregation_strategy="simple",
)
for entity in ner("Grace Turing visits York"):
    place = f"from {entity['start']} to {entity['end']}"
    print(entity["entity_group"], entity["word"], place)
