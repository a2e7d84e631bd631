"""The sentences on which models are most undecided, by what all structures of a sentence say of it."""

import io

import pytest
import torch
from tests import tiny_corpora

from strukt.data import brackets, conllu
from strukt.errors import SettingError
from strukt.tasks import lm
from strukt.tasks.classify.model import Classifier
from strukt.tasks.constituency.model import ConstituencyParser
from strukt.tasks.dependency.model import Parser
from strukt.tasks.lm.model import LanguageModel
from strukt.tasks.ner.model import EntityModel
from strukt.tasks.pipeline.model import Pipeline
from strukt.tasks.tag.model import Tagger

TREES, PHRASES, NESTED = tiny_corpora.trees(8), tiny_corpora.phrases(8), tiny_corpora.nested(8)


def tagger(**options):
    return model_of(Tagger, tiny_corpora.tag_config(**options), TREES)


def parser(**options):
    return model_of(Parser, tiny_corpora.dependency_config(**options), TREES)


def model_of(kind, config, sentences):
    """A model with random weights that are far from 0."""
    torch.manual_seed(0)
    model = kind.from_corpus(config, list(kind.trainable(config, sentences)))
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1 and "score" in name:
            torch.nn.init.normal_(parameter)
    return model.eval()


def enumerated(model, sentence):
    """All structures of a sentence, and their probabilities."""
    distribution = model.distribution([sentence])
    events = distribution.enumerate_support()
    return events[:, 0], distribution.log_prob(events)[:, 0].double().exp()


def of_probabilities(probabilities):
    return torch.special.entr(probabilities).sum().item()


CASES = {
    "tag": (tagger, {}, [conllu.from_forms(["the", "old", "cat"])]),
    "crf": (tagger, {"criterion": "crf"}, [conllu.from_forms(["the", "old", "cat"])]),
    "head": (parser, {}, [conllu.from_forms(["the", "old", "cat", "sees"])]),
    "projective": (parser, {"trees": "projective"}, [conllu.from_forms(["the", "old", "cat", "sees"])]),
}


@pytest.mark.parametrize("name", CASES)
def test_the_entropy_is_that_of_all_structures(name):
    make, options, sentences = CASES[name]
    model = make(**options)
    for sentence, entropy in model.most_undecided(sentences, 1):
        _, probabilities = enumerated(model, sentence)
        assert entropy * len(sentence) == pytest.approx(of_probabilities(probabilities), abs=1e-3)


def test_the_entropy_of_constituents_is_that_of_all_trees():
    model = model_of(ConstituencyParser, tiny_corpora.constituency_config(), PHRASES)
    [sentence] = brackets.read_text(io.BytesIO(b"the cat"))
    [found] = model.most_undecided([sentence], 1)
    _, probabilities = enumerated(model, sentence)
    assert found.entropy * len(sentence) == pytest.approx(of_probabilities(probabilities), abs=1e-3)


def test_trees_of_spans_that_are_no_entities_do_not_count():
    model = model_of(EntityModel, tiny_corpora.ner_config(), NESTED)
    [sentence] = tiny_corpora.read_json_lines('{"tokens": ["Ada", "likes", "Rome"]}\n')
    [found] = model.most_undecided([sentence], 1)
    events, probabilities = enumerated(model, sentence)
    expected = 0.0
    for start in range(3):
        for end in range(start + 1, 4):
            labels = events[:, start, end]
            labels = torch.where(labels == model.layer.empty, -1, labels)
            of_labels = [probabilities[labels == label].sum() for label in labels.unique()]
            expected += of_probabilities(torch.stack(of_labels))
    assert found.entropy * 3 == pytest.approx(expected, abs=1e-3)


def test_where_there_is_certainly_no_entity_the_entropy_is_0(monkeypatch):
    model = model_of(EntityModel, tiny_corpora.ner_config(), NESTED)
    words = tiny_corpora.read_json_lines('{"tokens": ["it", "rains", "and", "rains"]}\n')
    scores = torch.full((1, 5, 5, len(model.layer.labels)), -100.0)
    scores[..., model.layer.empty] = 0.0
    monkeypatch.setattr(model.layer, "scores", lambda *_: scores)
    assert model.distribution(words).entropy().item() > 1.5
    assert model.most_undecided(words, 1)[0].entropy == 0.0


def test_flat_entities_are_sequences_of_tags():
    model = model_of(EntityModel, tiny_corpora.ner_config(criterion="flat"), NESTED)
    [sentence] = tiny_corpora.read_json_lines('{"tokens": ["Ada", "likes", "Rome"]}\n')
    _, probabilities = enumerated(model, sentence)
    [found] = model.most_undecided([sentence], 1)
    assert found.entropy * 3 == pytest.approx(of_probabilities(probabilities), abs=1e-3)


@pytest.mark.parametrize("entities", ["none", "nested", "flat"])
def test_a_pipeline_is_as_undecided_as_its_parts_together(entities):
    sentences = tiny_corpora.layers(8)
    model = model_of(Pipeline, tiny_corpora.pipeline_config(entities=entities), sentences)
    for found in model.most_undecided(sentences, 8):
        [alone] = model.batched(
            [found.sentence],
            lambda batch: [
                [float(part.entropies(model.batches(batch)[name])) for name, part in model.parts.items()]
            ],
        )
        assert len(alone) == 2 + (entities != "none")
        assert min(alone) > 0
        assert found.entropy * len(found.sentence) == pytest.approx(sum(alone), abs=1e-2)


@pytest.mark.parametrize("count", [1, 7, 40])
def test_the_most_undecided_come_first_and_equal_ones_in_the_order_of_the_corpus(count):
    model = tagger(criterion="crf")
    sentences = [*tiny_corpora.trees(8), *tiny_corpora.trees(8, seed=1), *tiny_corpora.trees(8)]
    entropies = [model.most_undecided([each], 1)[0].entropy for each in sentences]
    order = sorted(range(len(sentences)), key=lambda place: -entropies[place])
    found = model.most_undecided(iter(sentences), count)
    assert [each.entropy for each in found] == [entropies[place] for place in order[:count]]
    places = [next(k for k, each in enumerate(sentences) if each is one.sentence) for one in found]
    assert places == order[:count]


def test_annotation_is_not_read():
    model = parser()
    bare = [conllu.from_forms(sentence.forms) for sentence in TREES]
    assert [each.entropy for each in model.most_undecided(bare, 8)] == [
        each.entropy for each in model.most_undecided(TREES, 8)
    ]


def test_sentences_without_words_are_last():
    [empty] = conllu.read(io.BytesIO(b"0.1\t_" + b"\t_" * 8 + b"\n\n"))
    assert len(empty) == 0
    assert [each.sentence for each in tagger().most_undecided([empty, TREES[0]], 2)] == [TREES[0], empty]


def test_codes_are_refused():
    model = model_of(ConstituencyParser, tiny_corpora.constituency_config(criterion="bits"), PHRASES)
    with pytest.raises(SettingError, match=r"scores binary codes of spans, .* give one with --criterion"):
        model.most_undecided(PHRASES, 1)


def test_models_that_predict_no_structures_are_refused():
    model = LanguageModel.from_corpus(lm.Config(model="ngram"), TREES)
    with pytest.raises(SettingError, match="a model of the task lm has no distribution over predicted structures"):
        model.most_undecided(TREES, 1)
    assert Classifier.most_undecided is LanguageModel.most_undecided
