"""What `strukt check` says of good and bad corpora."""

import gzip
import re

import pytest

from strukt.cli.main import main

GOOD = (
    "# text = Dogs bark\n"
    "1\tDogs\tdog\tNOUN\tNNS\t_\t2\tnsubj\t_\t_\n"
    "2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t_\t_\n\n"
)


@pytest.fixture
def corpus(tmp_path):
    def write(text: str, name: str = "corpus.conllu") -> str:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def test_a_good_corpus_is_counted(corpus, capsys):
    assert main(["check", "dependency", corpus(GOOD * 3)]) == 0
    out, err = capsys.readouterr()
    rows = dict(line.rsplit(maxsplit=1) for line in out.split("\n\n")[0].split("\n"))
    assert rows["problems"] == "0"
    assert rows["sentences"] == "3"
    assert rows["words"] == "6"
    assert "deprel  nsubj 3, root 3" in out
    assert err == ""


def test_of_many_problems_of_a_kind_the_first_are_listed(corpus, capsys):
    wide = "Dogs\tNNS\tB-NP\tO\n\n"
    path = corpus(wide * 20 + "Dogs\n\n" + wide * 1210, "wide.tsv")
    assert main(["check", "tag", path]) == 2
    *listed, rest, other = capsys.readouterr().out.splitlines()[:22]
    assert [line.split(":")[1] for line in listed] == [str(line) for line in range(1, 41, 2)]
    assert rest == "... and 1,210 more of this kind"
    assert other.startswith(f"{path}:41: the word 'Dogs' has no tag")


def test_a_few_problems_are_all_listed(corpus, capsys):
    assert main(["check", "tag", corpus("Dogs\n\n" * 20, "bare.tsv")]) == 2
    out = capsys.readouterr().out
    assert out.count("has no tag") == 20
    assert "of this kind" not in out


def test_what_is_repaired_is_said_but_is_no_fault(tmp_path, capsys):
    path = tmp_path / "crlf.conllu"
    path.write_bytes(GOOD.replace("\n", "\r\n").encode())
    assert main(["check", "dependency", str(path)]) == 0
    out = capsys.readouterr().out
    assert "[repaired]" in out
    assert re.search(r"^problems +0$", out, re.MULTILINE)


def test_compressed_corpora_and_many_labels(tmp_path, capsys):
    path = tmp_path / "tags.tsv.gz"
    path.write_bytes(gzip.compress("".join(f"w\tTAG-{number:09}\n" for number in range(20)).encode() + b"\n"))
    assert main(["check", "tag", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("     TAG-")  # below the first tag
    assert lines[-1].endswith("and 8 more")
    assert max(map(len, lines)) <= 100


TAGGED = (
    "# text = Dogs bark\n"
    "1\tDogs\tdog\tNOUN\t_\t_\t2\tnsubj\t_\t_\n"
    "2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t_\t_\n\n"
    "1\tDogs\tdog\t{}\tNNS\t_\t0\troot\t_\t_\n\n"
)


def test_one_column_of_tags_is_checked(corpus, capsys):
    path = corpus(TAGGED.format("NOUN"))
    assert main(["check", "tag", path, "--column", "upos"]) == 0
    out = capsys.readouterr().out
    assert "upos  NOUN 2, VERB 1" in out
    assert "xpos" not in out
    assert main(["check", "tag", path, "--column", "xpos"]) == 2
    out = capsys.readouterr().out
    assert f"{path}:2: word 1, 'Dogs', has no tag in the column XPOS" in out
    assert "fill in the column, or train with --partial" in out
    assert main(["check", "tag", path]) == 2
    assert "upos labels" in capsys.readouterr().out


def test_schemes_of_tags_are_checked_by_the_name_that_training_has(corpus, capsys):
    path = corpus("a\tB-X\nb\tE-X\nc\tS-X\n\nd\tI-X\n\n", "tags.tsv")
    assert main(["check", "tag", path, "--constraints", "bioes"]) == 2
    out = capsys.readouterr().out
    assert f"{path}:5: the sentence begins with I-X; rewrite the tags in BIOES" in out
    assert out.count(path) == 2  # where it begins, and where it ends
    assert main(["check", "tag", path, "--constraints", "bio"]) == 2
    assert f"{path}:2: 'E-X' is not a tag of BIO; expected O, B-X or I-X" in capsys.readouterr().out


BROKEN = {
    "tag": (
        "a\tO\nb\tI-X\n\n",
        "t.tsv",
        ["--constraints", "bio", "--criterion", "crf"],
        ["--constraints", "bio"],
    ),
    "tag upos": (TAGGED.format("_"), "t.conllu", ["--column", "upos"], ["--column", "upos"]),
    "dependency": (GOOD + GOOD.replace("\t2\tnsubj", "\t0\tnsubj"), "t.conllu", [], []),
    "ner": ("a\tO\nb\tI-X\n\n", "t.tsv", [], []),
    "ner json": ('{"tokens": ["a"]}\n', "t.jsonl", [], []),
    "constituency": ("(S (A a)\n   (B b))\n(S (A a) (B b)))\n", "t.ptb", [], []),
    "classify": ("one\ta b\n\tc\n", "t.tsv", [], []),
    "dictionary": ("one\ta b\n\tc\n", "t.tsv", [], []),
    "nli": ("yes\tA b\tC d\nA b\n", "t.tsv", [], []),
    "listops": ("3\t[MAX 3 1 ]\n4\t[MAX 3 1 ]\n", "t.tsv", ["--target", "value", "--reads", "words"], []),
    "cogs": ("A b .\tb ( x _ 1 ) AND\tprimitive\n", "t.tsv", [], []),
    "sort": ("3 1 2\n\n4 x\n", "t.txt", [], []),
    "count": ("0 1\n1 x\n", "t.txt", [], []),
}


@pytest.mark.parametrize("name", BROKEN)
def test_training_names_the_line_that_check_names(name, corpus, tmp_path, capsys):
    text, file, of_training, of_check = BROKEN[name]
    task, path = name.split()[0], corpus(text, file)
    assert main(["check", task, path, *of_check]) == 2
    first = next(line for line in capsys.readouterr().out.splitlines() if "[repaired]" not in line)
    command = ["train", task, "--train", path, "--dev", path, "-o", str(tmp_path / "model"), *of_training]
    assert main(command) == 2
    error = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    assert error == [f"error: {first}"]
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("task", ["lm", "sort"])
def test_a_nul_byte_is_a_problem_of_its_line(task, tmp_path, capsys):
    path = tmp_path / "corpus.txt"
    path.write_bytes(b"1 0\n1 \0 0\n0\n")
    assert main(["check", task, str(path)]) == 2
    out, err = capsys.readouterr()
    assert out.startswith(f"{path}:2: the line holds a NUL byte; is this a UTF-8 text file?\n")
    assert ["sentences", "2"] in [line.split() for line in out.splitlines()]
    assert err == ""


@pytest.mark.parametrize("task", ["dependency", "tag"])
def test_a_sentence_of_empty_nodes_alone_has_no_words(task, tmp_path, capsys):
    path = tmp_path / "corpus.conllu"
    path.write_text("0.1\tx" + "\t_" * 8 + "\n\n1\tx\t_\tX\tX\t_\t0\troot\t_\t_\n\n")
    assert main(["check", task, str(path)]) == 2
    out, err = capsys.readouterr()
    assert out.startswith(
        f"{path}:1: the sentence has empty nodes and no words; write its words, or delete it\n"
    )
    assert err == ""


def test_escape_sequences_of_a_corpus_do_not_reach_the_terminal(tmp_path, capsys):
    path = tmp_path / "corpus.conllu"
    row = "\t".join(["1", "\x1b[31mred", "_", "\x1b]0;title\x07", "_", "_", "5", "dep", "_", "_"])
    path.write_text(f"{row}\n\n{row.replace(chr(9) + '5', chr(9) + '0')}\n\n")
    for task in ("tag", "dependency"):
        assert main(["check", task, str(path)]) == 2
        out, err = capsys.readouterr()
        assert task != "tag" or "]0;title" in out  # shown as it is, without what would steer
        assert not {"\x1b", "\x07"} & set(out + err)


HALF = GOOD.replace("NOUN\tNNS", "_\tNNS").replace("\t2\tnsubj", "\t_\t_")


def test_with_partial_an_underscore_is_any_tag_or_head(corpus, capsys):
    path = corpus(HALF * 2)
    assert main(["check", "dependency", path]) == 2
    out = capsys.readouterr().out
    assert "corpus.conllu:2: word 1, 'Dogs', has no head" in out
    assert "0 for the root, or train with --partial" in out
    assert main(["check", "dependency", path, "--partial"]) == 0
    assert "annotated words   2" in capsys.readouterr().out
    assert main(["check", "tag", path, "--column", "upos"]) == 2
    assert main(["check", "tag", path, "--column", "upos", "--partial"]) == 0
    assert "upos  VERB 2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("task", "text", "message"),
    [
        ("dependency", HALF.replace("\t_\t_\t_\t_\n2", "\t_\tnsubj\t_\t_\n2"), "has a relation and no head"),
        ("dependency", GOOD.replace("\t2\tnsubj", "\t0\t_"), "word 2 has head 0, as has word 1"),
    ],
)
def test_what_no_tree_has_is_refused_with_partial_too(corpus, capsys, task, text, message):
    assert main(["check", task, corpus(text), "--partial"]) == 2
    assert message in capsys.readouterr().out


def test_a_scheme_holds_between_words_without_tags(corpus, capsys):
    path = corpus("the\tO\nold\t_\nman\tE-PER\n\nthe\tO\nman\tE-PER\n\n", "tags.tsv")
    assert main(["check", "tag", path, "--constraints", "bioes", "--partial"]) == 2
    out = capsys.readouterr().out
    assert "tags.tsv:6: E-PER cannot follow O of word 1, whatever the tags of the other words are" in out
    assert out.count("E-PER cannot") == 1


@pytest.mark.parametrize(
    ("task", "text", "name"),
    [
        ("constituency", "(_ (NP (_ the) (NN cat)) (_ sees))\n", "some.ptb"),
        ("ner", '{"tokens": ["Ada"], "entities": [], "partial": true}\n', "some.jsonl"),
        ("ner", "# global.Entity = eid-etype\n# entities = partial\n" + GOOD, "some.conllu"),
        ("pipeline", "# global.Entity = eid-etype\n# entities = partial\n" + HALF, "some.conllu"),
    ],
)
def test_incomplete_spans_need_partial(corpus, capsys, task, text, name):
    path = corpus(text, name)
    assert main(["check", task, path, "--partial"]) == 0
    assert "_ 1" not in capsys.readouterr().out
    assert main(["check", task, path]) == 2
    assert re.search("partly annotated|has no head", capsys.readouterr().out)


@pytest.mark.parametrize("task", ["tag", "dependency", "constituency", "ner", "pipeline"])
def test_forbidden_parts_at_fault_are_named_once(corpus, capsys, task):
    comments = "# global.Entity = eid-etype\n# constituency = (S (_ Dogs) (_ bark))\n"
    path = corpus(f'{comments}# forbidden = {{"word": 3, "head": 1}}\n{GOOD}')
    assert main(["check", task, path, "--partial"]) == 2
    assert capsys.readouterr().out.count('corpus.conllu:3: {"word": 3, "head": 1} is not a part') == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dependncy", "x.conllu"], "error: unknown task 'dependncy'; did you mean 'dependency'?\n"),
        (["dependency", "{}", "--column", "upos"], "--column is an option of the task tag, not of dependency\n"),
        (["tag", "{}", "--column", "lemma"], "invalid choice: 'lemma'"),
        (["lm", "{}", "--partial"], "option of the tasks tag, dependency, constituency, ner, pipeline, not of lm"),
    ],
)
def test_options_are_those_of_the_task(corpus, capsys, arguments, message):
    path = corpus(GOOD)
    assert main(["check", *(argument.format(path) for argument in arguments)]) == 2
    assert message in capsys.readouterr().err
