"""`pipeline("token-classification")` tags words with the best sequence of the chain."""

import pytest
import torch

pytest.importorskip("transformers", reason="heads on encoders of Hugging Face need transformers")
import transformers
from tests import tiny_pretrained
from tests.hf import tiny_heads
from tests.hf.tiny_heads import TAGS, tokenizer

from strukt.hf import WordTagPipeline, word_numbers

TEXT = "abc d ef, g hi"
WORDS = ["abc", "d", "ef", ",", "g", "hi"]
OFFSETS = [(0, 3), (4, 5), (6, 8), (8, 9), (10, 11), (12, 14)]


def best_tags(model, text=TEXT):
    """The tags of the mode, which the model's own distribution knows."""
    encoding = tokenizer()(text, return_tensors="pt")
    with torch.no_grad():
        chain = model.distribution(**encoding, words=word_numbers(encoding))
    return [TAGS[tag] for tag in chain.mode[0].tolist()]


def tagger(seed=0):
    return tiny_heads.model("crf", seed, constraints="BIO")


@pytest.fixture(params=range(5))
def model(request):
    return tagger(request.param)


def test_each_word_has_the_tag_of_the_best_sequence(model):
    tag = transformers.pipeline("token-classification", model=model, tokenizer=tokenizer())
    assert isinstance(tag, WordTagPipeline)
    assert "," not in tiny_pretrained.VOCABULARY  # so that a word of the text is unknown
    found = tag(TEXT, ignore_labels=[])
    assert [word["entity"] for word in found] == best_tags(model)
    assert [word["word"] for word in found] == WORDS
    assert [(word["start"], word["end"]) for word in found] == OFFSETS
    assert all(0 < word["score"] <= 1 for word in found)


@pytest.mark.parametrize("strategy", ["simple", "first", "average", "max"])
def test_spans_are_those_of_the_tags(model, strategy):
    ner = transformers.pipeline("ner", model=model, tokenizer=tokenizer(), aggregation_strategy=strategy)
    expected = []
    for tag, (start, end) in zip(best_tags(model), OFFSETS, strict=True):
        if tag.startswith("B-"):
            expected.append([tag[2:], start, end])
        elif tag.startswith("I-"):
            expected[-1][2] = end
    assert [[span["entity_group"], span["start"], span["end"]] for span in ner(TEXT)] == expected


def test_lists_of_words_and_batches():
    model = tagger()
    tag = transformers.pipeline("token-classification", model=model, tokenizer=tokenizer(), ignore_labels=[])
    one = tag(TEXT)
    (listed,) = tag(WORDS, is_split_into_words=True)
    assert [word["entity"] for word in listed] == [word["entity"] for word in one]
    assert [word["start"] for word in listed] == [0, 4, 6, 9, 11, 13]
    many = tag([TEXT, "a b", TEXT], batch_size=2)
    assert [word["entity"] for word in many[2]] == [word["entity"] for word in one]
    assert [word["entity"] for word in many[1]] == best_tags(model, "a b")


def test_long_texts_are_read_in_windows():
    ner = transformers.pipeline(
        "token-classification", model=tagger(), tokenizer=tokenizer(), aggregation_strategy="simple", stride=4
    )
    text = " ".join("abcdefghijklmnopqrstuvwxyz")
    first_window = len("a b c d e f g h i j k l m n")
    assert max(span["end"] for span in ner(text, ignore_labels=[])) > first_window


def test_it_is_built_from_a_folder(tmp_path):
    model = tagger()
    model.save_pretrained(tmp_path)
    tokenizer().save_pretrained(tmp_path)
    tag = transformers.pipeline("token-classification", model=str(tmp_path), ignore_labels=[])
    assert [word["entity"] for word in tag(TEXT)] == best_tags(model)


def test_models_of_other_classes_are_treated_as_before():
    config = transformers.BertConfig(
        **{name: size for name, size in tiny_heads.ENCODER.items() if name != "model_type"},
        id2label=dict(enumerate(TAGS)),
    )
    torch.manual_seed(0)
    model = transformers.BertForTokenClassification(config).eval()
    options = {"model": model, "tokenizer": tokenizer()}
    ours = transformers.pipeline("token-classification", **options)
    theirs = transformers.TokenClassificationPipeline(**options, task="token-classification")
    for inputs, more in ((TEXT, {}), (WORDS, {"is_split_into_words": True})):
        for strategy in ("none", "first"):
            more = {**more, "ignore_labels": [], "aggregation_strategy": strategy}
            assert ours(inputs, **more) == theirs(inputs, **more)


def test_bits_are_tagged_as_well():
    model = tiny_heads.model("bits")
    tag = transformers.pipeline("token-classification", model=model, tokenizer=tokenizer(), ignore_labels=[])
    assert [word["entity"] for word in tag(TEXT)] == best_tags(model)


@pytest.mark.parametrize("head", ["biaffine", "span"])
def test_heads_without_tags_are_refused(head):
    with pytest.raises(ValueError, match=f"^model has the head '{head}', which predicts no tags; expected one of"):
        transformers.pipeline("token-classification", model=tiny_heads.model(head), tokenizer=tokenizer())


@pytest.mark.parametrize("strategy", ["none", "simple"])
@pytest.mark.parametrize("text", ["", " \n ", "\x00"])
def test_texts_without_words(text, strategy):
    model = tiny_heads.model("crf")
    tag = transformers.pipeline("ner", model=model, tokenizer=tokenizer(), aggregation_strategy=strategy)
    assert tag(text) == []
