"""Corpora as they are published, made into what the tasks read."""

import json
import zipfile

import pytest

from strukt.data import corpus
from strukt.data.corpora import conversions
from strukt.errors import DataError


def made(conversion, folder):
    return {name: list(rows) for name, rows in conversion(folder)}


@pytest.fixture
def source(tmp_path):
    (tmp_path / "source").mkdir()
    return tmp_path / "source"


def pair(label, premise, hypothesis):
    return json.dumps({"gold_label": label, "sentence1": premise, "sentence2": hypothesis, "pairID": "1"})


def write_snli(source, rows, **others):
    with zipfile.ZipFile(source / "snli_1.0.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for split in conversions.SPLITS:
            archive.writestr(f"snli_1.0/snli_1.0_{split}.jsonl", "\n".join(rows) + "\n")
        for name, text in others.items():
            archive.writestr(name, text)


def test_pairs_without_class_or_words_are_left_out(source, tmp_path):
    rows = [
        pair("neutral", " A\tman  sleeps.", "He dreams."),
        pair("-", "A", "B"),
        pair("entailment", "A", " "),
    ]
    write_snli(source, rows)
    found = made(conversions.snli, tmp_path)
    assert found == {f"{split}.tsv": ["A man sleeps.\tHe dreams.\tneutral"] for split in conversions.SPLITS}
    (tmp_path / "train.tsv").write_text(found["train.tsv"][0] + "\n")
    [read] = corpus.read(tmp_path / "train.tsv", readers=corpus.PAIRS)
    assert (read.premise, read.label) == (["A", "man", "sleeps", "."], "neutral")


def test_nothing_is_unpacked(source, tmp_path):
    write_snli(source, [pair("neutral", "A", "B")], **{"../escaped.txt": "x", "/absolute.txt": "x"})
    made(conversions.snli, tmp_path)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["snli_1.0.zip"]
    assert not (tmp_path.parent / "escaped.txt").exists()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["{"], r"snli_1.0.zip: differs from the published file \(snli_1.0/snli_1.0_train.jsonl, line 1: "),
        ([pair("neutral", "A", "B"), "[]"], "train.jsonl, line 2: "),
        ([json.dumps({"gold_label": "neutral", "sentence1": "A"})], "line 1: 'sentence2'"),
        ([pair("neutral", 3, "B")], "line 1: "),
        ([pair("neutral", "x" * 200_000, "B")], "the line has more than 100,000 bytes"),
    ],
)
def test_lines_that_are_no_pairs(rows, message, source, tmp_path):
    write_snli(source, rows)
    with pytest.raises(DataError, match=message):
        made(conversions.snli, tmp_path)


def test_archives_that_are_none(source, tmp_path):
    with pytest.raises(DataError, match=r"No such file or directory"):
        made(conversions.polarity, tmp_path)
    path = source / "sentence_polarity.zip"
    path.write_bytes(b"<html>not here</html>")
    with pytest.raises(
        DataError, match=r"sentence_polarity.zip: differs from the published file .*not a zip file"
    ):
        made(conversions.polarity, tmp_path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("sentence_polarity/rt-polarity.pos", "good\n")
    with pytest.raises(DataError, match=r"no item named 'sentence_polarity/rt-polarity.neg'"):
        made(conversions.polarity, tmp_path)


@pytest.mark.parametrize("place", [60, -30])
def test_damaged_archives(place, source, tmp_path):
    write_snli(source, [pair("neutral", f"A {number}", "B") for number in range(50)])
    path = source / "snli_1.0.zip"
    content = bytearray(path.read_bytes())
    content[place] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(DataError):
        made(conversions.snli, tmp_path)


def test_archives_that_are_bombs(source, tmp_path, monkeypatch):
    write_snli(source, [pair("neutral", "A", "B")] * 100)
    monkeypatch.setattr(conversions, "LARGEST_MEMBER", 1000)
    with pytest.raises(DataError, match=r"snli_1.0_train.jsonl has more than 1,000 bytes"):
        made(conversions.snli, tmp_path)


def test_classes_of_sentences_and_slots_of_words(source, tmp_path):
    for intent in conversions.INTENTS:
        query = {
            "data": [
                {"text": "play "},
                {"text": "Clem Burke \ud83c\udf55", "entity": "artist"},
                {"text": "!"},
            ]
        }
        text = json.dumps({intent: [query]}, ensure_ascii=False)
        (source / intent).mkdir()
        # As UTF-8 and, as one of the published files has it, with each half of a pair as three bytes.
        (source / intent / f"train_{intent}_full.json").write_bytes(text.encode("utf-8", "surrogatepass"))
        paired = text.encode("utf-16", "surrogatepass").decode("utf-16").encode()
        (source / intent / f"validate_{intent}.json").write_bytes(paired)
    found = made(conversions.snips, tmp_path)
    assert found["intents-train.tsv"] == found["intents-dev.tsv"]
    assert found["intents-dev.tsv"][0] == "AddToPlaylist\tplay Clem Burke 🍕 !"
    slots = ["play\tO", "Clem\tB-artist", "Burke\tI-artist", "🍕\tI-artist", "!\tO", ""]
    assert found["slots-train.tsv"] == found["slots-dev.tsv"] == slots * 7


@pytest.mark.parametrize(
    "text", [b"\xff", b"{}", b'{"AddToPlaylist": [{"data": [{}]}]}', b'{"AddToPlaylist": 3}']
)
def test_queries_that_are_none(text, source, tmp_path):
    (source / "AddToPlaylist").mkdir()
    (source / "AddToPlaylist" / "train_AddToPlaylist_full.json").write_bytes(text)
    with pytest.raises(
        DataError, match=r"train_AddToPlaylist_full.json: differs from the published file \(AddToPlaylist: "
    ):
        made(conversions.snips, tmp_path)


def test_splits_by_line_and_by_document(source, tmp_path):
    with zipfile.ZipFile(source / "sentence_polarity.zip", "w") as archive:
        for suffix in ("neg", "pos"):
            rows = "".join(f"{suffix} {number} \n" for number in range(1, 21))
            archive.writestr(f"sentence_polarity/rt-polarity.{suffix}", rows)
    found = made(conversions.polarity, tmp_path)
    assert found["dev.tsv"] == ["negative\tneg 9", "negative\tneg 19", "positive\tpos 9", "positive\tpos 19"]
    assert found["test.tsv"] == [
        "negative\tneg 10",
        "negative\tneg 20",
        "positive\tpos 10",
        "positive\tpos 20",
    ]
    assert len(found["train.tsv"]) == 32

    for number in range(20):
        (source / f"{number:02}_brat.tsv").write_text(f"{number}\tO\t\n\n")
    found = made(conversions.litbank, tmp_path)
    assert found["dev.tsv"] == ["8\tO\t", "", "18\tO\t", ""]
    assert found["test.tsv"] == ["9\tO\t", "", "19\tO\t", ""]


def test_documents_without_a_last_line_end_stay_apart(source, tmp_path):
    (source / "const").mkdir()
    for name in ("academic_art", "academic_census", "bio_byron"):
        (source / "const" / f"GUM_{name}.ptb").write_text(f"(S (X {name}))\n\n(S (X end))")
    found = made(conversions.gum, tmp_path)
    assert found["train.ptb"] == [
        "(S (X academic_art))",
        "",
        "(S (X end))",
        "(S (X academic_census))",
        "",
        "(S (X end))",
    ]
    assert found["dev.ptb"] == ["(S (X bio_byron))", "", "(S (X end))"]
    assert found["test.ptb"] == []
