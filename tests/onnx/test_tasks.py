"""Exported models of spans and of classes, and on pretrained encoders: they say what the model says."""

import io
import json
import random

import pytest
import torch
from tests import tiny_corpora

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")
pytest.importorskip("transformers")
from tests import tiny_pretrained
from tests.onnx.random_weights import with_random_weights

from strukt.data import conllu, text
from strukt.data.classes import labelled
from strukt.errors import SettingError
from strukt.onnx.export import export
from strukt.tasks import classify, mlm
from strukt.tasks.classify.model import Classifier
from strukt.tasks.common.encoder.config import FineTuningConfig
from strukt.tasks.constituency.model import ConstituencyParser
from strukt.tasks.dependency.model import Parser
from strukt.tasks.mlm.model import MaskedLanguageModel
from strukt.tasks.ner.model import EntityModel
from strukt.tasks.pipeline.components import COMPONENTS
from strukt.tasks.pipeline.model import Pipeline
from strukt.tasks.tag.model import Tagger
from strukt.train import onnx_graph, saved_model

TREES = tiny_corpora.trees(20)
PHRASES = tiny_corpora.phrases(20)
ENTITIES = tiny_corpora.nested(20)
LAYERS = tiny_corpora.layers(20)
WORDS = [*tiny_corpora.NOUNS, *tiny_corpora.VERBS, "unheard-of", "1984", "x"]
WORDS_ALONE = {"kind": "none", "characters": "none", "affixes": 0}  # exported soonest
WINDOWS = WORDS_ALONE | {"kind": "convolution", "layers": 1}  # else trees tie in which equal words change places


def classes_of(sentences):
    lines = [f"{len(forms) % 2}\t{' '.join(forms)}\n" for forms in sentences]
    return list(labelled.read(io.BytesIO("".join(lines).encode())))


def entities_of(sentences):
    return tiny_corpora.read_json_lines(
        "".join(json.dumps({"tokens": forms, "entities": []}) + "\n" for forms in sentences)
    )


def layers_of(sentences):
    lines = "".join(" ".join(forms) + "\n" for forms in sentences)
    return list(text.read_for_entities(io.BytesIO(lines.encode())))


def plain(sentences):
    return [conllu.from_forms(forms) for forms in sentences]


def classify_config():
    return tiny_corpora.small(classify.Config())


CLASSES = classes_of([sentence.forms for sentence in TREES])
ENTITY_CRITERIA = {
    name: lambda name=name: tiny_corpora.ner_config(criterion=name) for name in ("margin", "flat")
}
PIPELINES = {
    name: lambda options=options: tiny_corpora.pipeline_config(**options)
    for name, options in {
        "pipeline": {"entities": "nested"},
        "pipeline without tags": {"tags": "none", "trees": "projective", "entities": "flat"},
        "pipeline of tags": {"trees": "none"},
    }.items()
}
MODELS = {
    "classify": (Classifier, classify_config, CLASSES, classes_of, WORDS_ALONE),
    "flat entities": (EntityModel, ENTITY_CRITERIA["flat"], ENTITIES, entities_of, WORDS_ALONE),
    "pipeline": (Pipeline, PIPELINES["pipeline"], LAYERS, layers_of, WINDOWS),
    "pipeline without tags": (Pipeline, PIPELINES["pipeline without tags"], LAYERS, layers_of, WINDOWS),
    "pipeline of tags": (Pipeline, PIPELINES["pipeline of tags"], LAYERS, layers_of, WINDOWS),
    "pipeline by LSTMs": (Pipeline, PIPELINES["pipeline"], LAYERS, layers_of, {}),
    "classify by LSTMs": (Classifier, classify_config, CLASSES, classes_of, {}),
    "constituency": (ConstituencyParser, tiny_corpora.constituency_config, PHRASES, plain, {}),
    "entities": (EntityModel, ENTITY_CRITERIA["margin"], ENTITIES, entities_of, {}),
    "bert": (Tagger, tiny_corpora.tag_config, TREES, plain, {"pretrained": "bert"}),
    "t5": (Parser, tiny_corpora.dependency_config, TREES, plain, {"pretrained": "t5"}),
    "bart": (ConstituencyParser, tiny_corpora.constituency_config, PHRASES, plain, {"pretrained": "bart"}),
    "adapters": (Classifier, classify_config, CLASSES, classes_of, {"pretrained": "bert", "lora": 2}),
}
"""Kind of model, its configuration, a corpus, what makes sentences of words, and options of the encoder."""

FAST = ("classify",)
CHOSEN = [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in MODELS]


def made(name, folder):
    kind, config, corpus, _, encoder = MODELS[name]
    config, options = config(), dict(encoder)
    if "pretrained" in options:
        tiny_pretrained.save(options["pretrained"], folder)
        options |= {"kind": "pretrained", "pretrained": str(folder)}
        options["fine_tuning"] = FineTuningConfig(lora=options.pop("lora", 0))
    for option, value in options.items():
        setattr(config.encoder, option, value)
    torch.manual_seed(0)
    return with_random_weights(kind.from_corpus(config, corpus))


@pytest.fixture(scope="module", params=CHOSEN)
def both(request, tmp_path_factory):
    """Name, model, and what is loaded of it after export."""
    folder = tmp_path_factory.mktemp("exported")
    model = made(request.param, folder / "pretrained")
    export(model, folder / "model")
    return request.param, model, saved_model.load(folder / "model")


@pytest.mark.thinned("n", "batch")
@pytest.mark.parametrize("batch", [1, 2, 3, 5])
@pytest.mark.parametrize("n", [1, 2, 3, 8, 17, 30])
def test_it_says_what_the_model_says(both, batch, n):
    name, model, exported = both
    generator = random.Random(f"{batch}/{n}")
    lengths = [n] + [generator.randint(1, n) for _ in range(batch - 1)]
    sentences = MODELS[name][3]([generator.choices(WORDS, k=length) for length in lengths])
    assert list(map(str, exported.predict(sentences))) == list(map(str, model.predict(sentences)))
    wanted, found = (scored(one, sentences) for one in (model, exported))
    torch.testing.assert_close(found, wanted, atol=1e-4, rtol=0)


def scored(model, sentences):
    """The marginals of structures, of a pipeline those of all parts, or the scores of classes."""
    if isinstance(model, Pipeline):
        parts = [(part, COMPONENTS[name].views(sentences)) for name, part in model.parts.items()]
        return torch.cat([part.distribution(views).marginals.flatten() for part, views in parts])
    if not isinstance(model, Classifier):
        return model.distribution(sentences).marginals
    batch = model.collate(sentences, with_targets=False)
    with model.predicting():
        return model.class_scores(model.sentences(batch.inputs, batch.lengths))


def test_it_is_measured_and_drawn_as_any_model(both):
    name, model, exported = both
    corpus = MODELS[name][2]
    assert exported.evaluate(corpus) == model.evaluate(corpus)
    assert len(list(exported.diagrams(corpus[:2], probabilities=True))) == 2


@pytest.mark.slow
def test_a_rounded_pipeline_runs_each_network_once_for_a_batch(tmp_path, monkeypatch):
    model, runs, run = made("pipeline", tmp_path), [], onnx_graph.Graph.__call__

    def counted(graph, *arguments):
        runs.append(graph)
        return run(graph, *arguments)

    export(model, tmp_path / "model", precision="int8")
    exported = saved_model.load(tmp_path / "model")
    monkeypatch.setattr(onnx_graph.Graph, "__call__", counted)
    [annotated] = exported.predict(LAYERS[:1])
    assert annotated.forms == LAYERS[0].forms
    assert len(runs) == len(set(runs)) == len(model.networks) + 1 == 6  # one is of the encoder
    found, wanted = (scored(each, LAYERS[:4]) for each in (exported, model))
    assert 0 < (found - wanted).abs().mean() < 0.1


def test_what_has_more_than_networks_is_refused():
    codes = ConstituencyParser.from_corpus(tiny_corpora.constituency_config(criterion="bits"), PHRASES)
    trees = classify_config()
    trees.model = "latent-tree"
    latent = Classifier.from_corpus(trees, CLASSES)
    masked = MaskedLanguageModel.from_corpus(tiny_corpora.small(mlm.Config()), TREES)
    for model, reason in (
        (codes, "trained with --criterion bits cannot be exported"),
        (latent, "trained with --model latent-tree cannot be exported"),
        (masked, "task mlm cannot be exported; those of tag, dependency, constituency, ner, pipeline, classify"),
    ):
        with pytest.raises(SettingError, match=reason):
            export(model, "nowhere")
