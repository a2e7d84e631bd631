"""The corpora that every Python installation carries."""

import subprocess
import sys

import pytest

from strukt.data import conllu
from strukt.data.conllu import dependency_trees
from strukt.data.corpora import embedded
from strukt.errors import DataError


@pytest.fixture(scope="module")
def sentences():
    return embedded.treebank("train", limit=800)


def test_all_are_trees_of_several_files_and_no_statement_comes_twice(sentences):
    for sentence in sentences:
        conllu.require_tree(sentence)
        assert dependency_trees.is_projective(sentence.heads)
        assert "_" not in sentence.column("xpos") + sentence.column("upos")
    assert len({tuple(sentence.forms) for sentence in sentences}) == len(sentences) == 800
    assert len({sentence.path for sentence in sentences}) > 5


def test_a_limit_is_a_prefix(sentences):
    assert embedded.treebank("train", limit=100) == sentences[:100]
    assert max(map(len, embedded.treebank("dev", limit=300, longest=8))) == 8


def test_splits_share_no_file():
    paths = [
        {sentence.path for sentence in embedded.treebank(split, limit=200)} for split in embedded.SPLITS
    ]
    assert all(paths)
    assert len(set.union(*paths)) == sum(map(len, paths))


def test_the_same_in_another_process(sentences):
    program = (
        "from strukt.data.corpora import embedded; import hashlib;"
        "text = ''.join(map(str, embedded.treebank('train', limit=200) + embedded.prose('dev')));"
        "print(hashlib.sha256(text.encode()).hexdigest())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_prose():
    train, dev, test = (embedded.prose(split) for split in embedded.SPLITS)
    assert len(train) > 5 * len(dev) > 0
    assert len(test) > 50
    assert sum(map(len, train)) > 10_000
    assert not {tuple(sentence.forms) for sentence in dev} & {tuple(sentence.forms) for sentence in test}
    assert sum(sentence.forms[-1] in '.!?)"' for sentence in train) > 0.9 * len(train)


def test_unknown_split():
    for corpus in (embedded.treebank, embedded.prose):
        with pytest.raises(ValueError, match="split: got 'valid', expected one of train, dev, test"):
            corpus("valid")


def test_python_without_sources(monkeypatch, tmp_path):
    monkeypatch.setattr(embedded, "_library", lambda: tmp_path)
    with pytest.raises(DataError, match="holds no source files; this Python comes without them"):
        embedded.treebank()


def test_python_without_the_language_reference(monkeypatch):
    monkeypatch.setitem(sys.modules, "pydoc_data.topics", None)
    with pytest.raises(DataError, match="this Python comes without pydoc_data"):
        embedded.prose()


def test_nothing_here_imports_torch():
    program = (
        "import sys, strukt.data.check, strukt.data.corpus, strukt.data.batching, strukt.data.vocabulary.codes,"
        "strukt.data.corpora.embedded, strukt.metrics.attachment_scores, strukt.metrics.span_f1,"
        "strukt.metrics.accuracy;"
        "sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
