"""Small models, saved, of four tasks; what they predict need not be right, but differs between sentences."""

from pathlib import Path

import pytest
from tests import tiny_corpora
from tests.tasks.learning import learned

from strukt.tasks.constituency.model import ConstituencyParser
from strukt.tasks.ner.model import EntityModel
from strukt.tasks.pipeline.model import Pipeline
from strukt.tasks.tag.model import Tagger
from strukt.train import saved_model


def saved(kind, config, sentences, folder: Path, steps: int = 8) -> str:
    saved_model.save(learned(kind, config, sentences, steps)[0], folder)
    return str(folder)


@pytest.fixture(scope="session")
def tagger(tmp_path_factory) -> str:
    config = tiny_corpora.tag_config(criterion="crf")
    return saved(Tagger, config, tiny_corpora.trees(20), tmp_path_factory.mktemp("scale") / "tagger")


@pytest.fixture(scope="session")
def constituency(tmp_path_factory) -> str:
    config = tiny_corpora.constituency_config(criterion="likelihood")
    folder = tmp_path_factory.mktemp("scale") / "constituency"
    return saved(ConstituencyParser, config, tiny_corpora.phrases(20), folder)


@pytest.fixture(scope="session")
def ner(tmp_path_factory) -> str:
    config = tiny_corpora.ner_config(criterion="likelihood")
    return saved(EntityModel, config, tiny_corpora.nested(20), tmp_path_factory.mktemp("scale") / "ner")


@pytest.fixture(scope="session")
def pipeline(tmp_path_factory) -> str:
    config = tiny_corpora.pipeline_config(entities="nested")
    folder = tmp_path_factory.mktemp("scale") / "pipeline"
    return saved(Pipeline, config, tiny_corpora.layers(20), folder, steps=30)


@pytest.fixture(scope="session")
def words() -> list[list[str]]:
    """The words of sixty sentences."""
    return [sentence.forms for sentence in tiny_corpora.trees(60, seed=1)]
