"""Folders of small models that know a few sentences."""

from functools import cache

import pytest
from tests import tiny_corpora
from tests.serve import models
from tests.tasks.learning import learned

from strukt.tasks.pipeline.model import Pipeline
from strukt.tasks.tag.model import Tagger
from strukt.train.saved_model import save

UNIVERSAL = {"DT": "DET", "JJ": "ADJ", "NN": "NOUN", "VBZ": "VERB"}


@cache
def universal_tagger():
    """A tagger of the column upos, whose tags are those of Universal Dependencies."""
    corpus = [
        sentence.annotated(upos=[UNIVERSAL[tag] for tag in sentence.column("upos")])
        for sentence in tiny_corpora.trees(12)
    ]
    return learned(Tagger, tiny_corpora.tag_config(column="upos"), corpus, 20)[0]


@cache
def other_tagger():
    """A tagger of the column upos, whose tags are others."""
    return learned(Tagger, tiny_corpora.tag_config(column="upos"), tiny_corpora.trees(12), 2)[0]


@cache
def all_layers():
    """A pipeline of tags, trees and nested entities."""
    config = tiny_corpora.pipeline_config(entities="nested")
    return learned(Pipeline, config, tiny_corpora.layers(12), 40)[0]


@pytest.fixture(scope="session")
def bio_tagger(tmp_path_factory):
    """A tagger whose tags mark entities."""
    corpus = tiny_corpora.read_entities(tmp_path_factory.mktemp("corpus"))
    return learned(Tagger, tiny_corpora.tag_config(constraints="bio"), corpus, 20)[0]


KINDS = models.KINDS | {"universal": universal_tagger, "other": other_tagger, "all": all_layers}


@pytest.fixture(scope="session")
def folder_of(tmp_path_factory, bio_tagger):
    """The folder in which a model of a kind is saved."""

    @cache
    def folder(kind: str) -> str:
        path = tmp_path_factory.mktemp("models") / kind
        save(bio_tagger if kind == "bio" else KINDS[kind](), path, {"epochs": []})
        return str(path)

    return folder


@pytest.fixture
def pipeline(folder_of):
    """Makes a pipeline of components of some kinds, each of which has the name of its kind."""
    spacy = pytest.importorskip("spacy", reason='needs spaCy: pip install "strukt[spacy]"')

    import strukt.spacy  # noqa: F401  # installed, it is found by its entry point; see test_entry_point.py

    def make(*kinds: str, sentencizer: bool = False, **config):
        nlp = spacy.blank("en")
        if sentencizer:
            nlp.add_pipe("sentencizer")
        for kind in kinds:
            nlp.add_pipe("strukt", name=kind, config={"model": folder_of(kind), **config})
        return nlp

    return make
