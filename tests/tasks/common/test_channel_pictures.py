"""The heads that a Probabilistic Transformer finds, in pictures."""

import re

import pytest
import torch
from tests import tiny_corpora

from strukt.cli.main import main
from strukt.data import conllu
from strukt.nn.probabilistic_transformer import Encoding
from strukt.tasks.common.channel_pictures import channel_diagrams
from strukt.tasks.tag.model import Tagger
from strukt.train import saved_model

SENTENCES = tiny_corpora.trees(9)


def model_of(kind, root_labels=0):
    torch.manual_seed(0)
    config = tiny_corpora.tag_config()
    config.encoder.kind, config.encoder.heads, config.encoder.pt.root_labels = kind, 3, root_labels
    return Tagger.from_corpus(config, SENTENCES)


def test_arcs_have_the_number_of_their_most_probable_label():
    heads = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    labels = torch.tensor([[0.1, 0.2, 0.7], [0.6, 0.3, 0.1]])
    nothing = torch.zeros(1, 2, 4)
    found = Encoding(nothing, nothing, heads[None, None], None, None, None, None, labels[None, None])
    [diagram] = channel_diagrams(found, ["Dogs", "bark"])
    assert diagram.relations == ["3", "1"]


@pytest.mark.parametrize("root_labels", [0, 4])
def test_each_word_has_its_most_probable_head_in_each_channel(root_labels):
    model = model_of("pt", root_labels).eval()
    sentence = SENTENCES[0]
    pictures = model.channels(sentence)
    inputs = model.encoder.inputs([sentence.forms])
    with torch.no_grad():
        found = model.encoder.mean_field(inputs, torch.tensor([len(sentence)]))
    assert [picture.title for picture in pictures] == ["channel 1", "channel 2", "channel 3"]
    for channel, picture in enumerate(pictures):
        for word, (head, probability) in enumerate(
            zip(picture.heads, picture.head_probabilities, strict=True)
        ):
            row = found.heads[0, channel, word]
            of_root = found.root_heads[0, channel, word].item() if root_labels else -1.0
            assert probability == pytest.approx(max(row.max().item(), of_root))
            assert probability == pytest.approx(row[head - 1].item() if head else of_root)


def test_the_only_word_has_no_head():
    [first, *_] = model_of("pt").channels(conllu.from_forms(["Dogs"]))
    assert first.heads == [-1]
    [first, *_] = model_of("pt", 4).channels(conllu.from_forms(["Dogs"]))
    assert first.heads == [0]


def test_words_without_a_probable_head_have_none():
    """As with positive parts in the place of a softmax, or where global features take it all."""
    heads = torch.tensor([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    nothing = torch.zeros(1, 3, 4)
    found = Encoding(nothing, nothing, heads[None, None], None, None, None)
    [picture] = channel_diagrams(found, ["a", "b", "c"])
    assert picture.heads == [-1, 1, -1]


def test_other_encoders_have_none(tmp_path, capsys):
    assert model_of("bilstm").channels(SENTENCES[0]) == []
    saved_model.save(model_of("bilstm"), tmp_path / "model")
    assert main(["show", str(tmp_path / "model"), "Dogs bark", "--channels"]) == 2
    assert "the model has no channels" in capsys.readouterr().err


def test_they_are_drawn_one_below_the_other(tmp_path, capsys):
    saved_model.save(model_of("pt"), tmp_path / "model")
    folder = str(tmp_path / "model")
    assert main(["show", folder, "Dogs bark", "--channels"]) == 0
    out = capsys.readouterr().out
    assert [line for line in out.splitlines() if "channel" in line] == ["channel 1", "channel 2", "channel 3"]
    page = tmp_path / "page.html"
    assert main(["show", folder, "Dogs bark", "--channels", "--html", str(page)]) == 0
    assert page.read_text().count("<figcaption>channel ") == 3
    picture = tmp_path / "one.svg"
    assert main(["show", folder, "Dogs bark", "--channels", "--svg", str(picture)]) == 0
    assert len(re.findall("<text[^>]*>channel ", picture.read_text())) == 3
    capsys.readouterr()
    for options in (["Dogs bark", "--channels", "--states"], ["--channels", "--codes"]):
        assert main(["show", folder, *options]) == 2
        assert "more than one kind of picture" in capsys.readouterr().err
