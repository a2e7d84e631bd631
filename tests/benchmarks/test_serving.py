"""The measurement of the service."""

import pytest
from tests.serve import models

from benchmarks import serving
from strukt.data.text import tokenize
from strukt.train import saved_model


def test_the_sentence_has_the_length_that_is_promised():
    assert len(tokenize(serving.SENTENCE)) == 25


@pytest.mark.slow  # a server that has to import everything
def test_it_measures_a_model(tmp_path, capsys):
    saved_model.save(models.tagger(), tmp_path / "tagger")
    serving.main([str(tmp_path / "tagger"), "--requests", "3"])
    *_, mode, marginals = capsys.readouterr().out.splitlines()
    assert mode.split("|")[1:3] == [" tagger ", " mode      "]
    assert mode.count(" ms ") == 4
    assert marginals.count(" ms ") == 2
