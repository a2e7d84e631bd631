"""Heads are trained by the Trainer of transformers, on datasets of Hugging Face."""

import numpy as np
import pytest

pytest.importorskip("transformers", reason="heads on encoders of Hugging Face need transformers")
pytest.importorskip("datasets", reason="the Trainer reads datasets of Hugging Face")
pytest.importorskip("accelerate", reason="the Trainer of transformers needs accelerate")
import datasets
import transformers
from tests.hf import tiny_heads
from tests.hf.tiny_heads import HEADS, LABELS, SENTENCES, tokenizer

from strukt.hf import StructuredHead, WordCollator, encode_words

pytestmark = pytest.mark.filterwarnings("ignore:'pin_memory' argument is set:UserWarning")


def dataset(head):
    rows = [{"tokens": words, **labels} for words, labels in zip(SENTENCES, LABELS[head], strict=True)]

    def encode(row):
        return encode_words(tokenizer(), row["tokens"], **{name: row[name] for name in LABELS[head][0]})

    return datasets.Dataset.from_list(rows).map(encode)


def accuracy(evaluation):
    """The share of predictions, in the form of labels, that are right."""
    known = evaluation.label_ids >= 0
    return {"accuracy": float(np.mean(evaluation.predictions[known] == evaluation.label_ids[known]))}


@pytest.mark.parametrize(
    "head", [pytest.param(head, marks=() if head == "crf" else pytest.mark.slow) for head in HEADS]
)
def test_a_trainer_lowers_the_loss_and_saves_what_it_learned(head, tmp_path):
    transformers.set_seed(0)
    model = StructuredHead(tiny_heads.config(head, dropout=0.0))
    rows = dataset(head)
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path),
        per_device_train_batch_size=4,
        per_device_eval_batch_size=3,
        learning_rate=0.03,
        max_steps=40,
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
        save_strategy="no",
        logging_steps=40,
    )
    trainer = transformers.Trainer(
        model,
        arguments,
        train_dataset=rows,
        eval_dataset=rows,
        data_collator=WordCollator(tokenizer()),
        compute_metrics=None if head == "span" else accuracy,
    )
    before = trainer.evaluate()
    trainer.train()
    after = trainer.evaluate()
    assert after["eval_loss"] < before["eval_loss"] / 2
    if head != "span":
        assert after["eval_accuracy"] > max(0.9, before["eval_accuracy"])
    predictions = trainer.predict(rows).predictions
    assert isinstance(predictions, np.ndarray)
    trainer.save_model(str(tmp_path / "saved"))
    loaded = StructuredHead.from_pretrained(tmp_path / "saved")
    again = transformers.Trainer(loaded, arguments, data_collator=WordCollator(tokenizer())).predict(rows)
    assert np.array_equal(again.predictions, predictions)


def test_the_collator_of_transformers_will_do_for_tags():
    rows = dataset("crf").select_columns(["input_ids", "attention_mask", "labels"])
    batch = transformers.DataCollatorForTokenClassification(tokenizer())([*rows])
    model = tiny_heads.model("crf")
    assert model(**batch).loss == model(**tiny_heads.batch("crf")).loss
