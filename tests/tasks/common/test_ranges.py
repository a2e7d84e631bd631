"""Options out of range are refused by name, before anything is read."""

import dataclasses
from pathlib import Path

import pytest

from strukt.errors import SettingError
from strukt.tasks import (
    classify,
    cogs,
    constituency,
    count,
    dependency,
    dictionary,
    listops,
    lm,
    mlm,
    ner,
    nli,
    sort,
    tag,
)
from strukt.tasks.common import ranges
from strukt.tasks.common.config import OptimizerConfig, TaskConfig, TrainerConfig
from strukt.tasks.common.encoder.config import (
    EncoderConfig,
    FineTuningConfig,
    MeanFieldConfig,
    TransformerConfig,
)

CONFIGS = [tag, dependency, constituency, ner, classify, mlm, lm, sort, count, cogs, nli, listops, dictionary]
PARTS = {
    "encoder": EncoderConfig,
    "latent": classify.LatentTreeConfig,
    "encoder.fine_tuning": FineTuningConfig,
    "encoder.pt": MeanFieldConfig,
    "encoder.transformer": TransformerConfig,
    "optimizer": OptimizerConfig,
    "trainer": TrainerConfig,
}


def number_options(kind):
    numbers = (int, float)
    return [field.name for field in dataclasses.fields(kind) if type(field.default) in numbers]


def with_option(name, value):
    part, _, option = name.rpartition(".")
    if not part:
        kinds = [task.Config for task in CONFIGS if type(vars(task.Config()).get(option)) in (int, float)]
        return kinds[0](**{option: value})
    found = PARTS[part](**{option: value})
    if part.startswith("encoder."):
        part, found = "encoder", EncoderConfig(**{part.removeprefix("encoder."): found})
    return classify.Config(**{part: found})


@pytest.mark.parametrize("task", CONFIGS)
def test_defaults_are_valid(task):
    ranges.require_valid(task.Config())


def test_every_number_has_a_range():
    named = {f"{part}.{option}" for part, kind in PARTS.items() for option in number_options(kind)}
    assert named.union(*(number_options(task.Config) for task in CONFIGS)) == set(ranges.RANGES)


@pytest.mark.parametrize("name", ranges.RANGES)
def test_nothing_is_below_zero(name):
    for value in (-1, -0.5):
        with pytest.raises(SettingError, match=f"--{name} is {value}; expected "):
            ranges.require_valid(with_option(name, value))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("bits", 0),
        ("trainer.seed", 1 << 64),
        ("trainer.threads", 100_000),
        ("bits", 63),
        ("temperature", 0.0),
        ("span_size", 0),
        ("encoder.layers", 0),
        ("encoder.dropout", 1.5),
        ("encoder.words", 0),
        ("optimizer.learning_rate", 0.0),
        ("optimizer.averaging", 2.0),
        ("optimizer.clip", 0.0),
        ("trainer.epochs", 0),
        ("trainer.tokens", 0),
        ("trainer.checkpoint_steps", 0),
        ("trainer.devices", 0),
    ],
)
def test_other_ends_of_ranges(name, value):
    with pytest.raises(SettingError, match=f"--{name} is"):
        ranges.require_valid(with_option(name, value))


@pytest.mark.parametrize(
    "name",
    [
        "trainer.max_minutes",
        "trainer.threads",
        "encoder.affixes",
        "optimizer.averaging",
        "tag_weight",
    ],
)
def test_zero_switches_some_things_off(name):
    ranges.require_valid(with_option(name, 0))


def test_a_weight_of_zero_switches_the_likelihood_of_trees_off():
    ranges.require_valid(constituency.Config(criterion="bits", tree_weight=0))


def table(**options):
    pt = MeanFieldConfig(label_scores="table")
    return TaskConfig(encoder=EncoderConfig(kind="pt", hidden=4, pt=pt, **options))


def encoder(kind, **options):
    return TaskConfig(encoder=EncoderConfig(kind=kind, **options))


def published(**options):
    return constituency.Config(criterion="bits-published", **options)


def latent(**options):
    return classify.Config(model="latent-tree", latent=classify.LatentTreeConfig(**options))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (TaskConfig(encoder=EncoderConfig(kind="transformer", heads=7)), "a divisor of 512"),
        (lm.Config(model="pcfg", text="stream"), "a model of continuous text"),
        (TaskConfig(encoder=EncoderConfig(kind="pretrained")), "--encoder.pretrained is missing"),
        (TaskConfig(encoder=EncoderConfig(character_size=97)), "a multiple of 3"),
        (TaskConfig(encoder=EncoderConfig(characters="lstm", character_size=97)), "a multiple of 2"),
        (tag.Config(constraints="bio"), "--constraints needs --criterion crf"),
        (table(words=8), "--encoder.characters is cnn; expected none for --encoder.pt.label_scores table"),
        (table(words=8, characters="none"), "--encoder.affixes is 24; expected 0 for"),
        (table(words=7, characters="none", affixes=0), "--encoder.words is 7; expected 8 for"),
        (
            sort.Config(attention="additive", scores="perceptron"),
            "--scores is perceptron, .* --attention mean",
        ),
        (
            count.Config(attention="none", tol=0.1),
            "--tol is 0.1, but has no effect; it needs --attention",
        ),
        (sort.Config(scores="perceptron", rivalry=1.0), "--rivalry is 1.0, .* it needs --scores low-rank"),
        (
            lm.Config(model="lstm", damping=0.5),
            "--damping is 0.5, but has no effect; it needs --model mfa",
        ),
        (sort.Config(kl_weight=1.0), "--kl_weight is 1.0, .* it needs --attention variational"),
        (sort.Config(start="last"), "--start is last, but has no effect; it needs --attention none"),
        (sort.Config(attention="none", start="last"), "those of --encoder bilstm have twice that"),
        (sort.Config(output_context=False), "--output_context and --input_feeding are both false"),
        (sort.Config(attention="none", input_feeding=True), "--input_feeding is True, but has no effect"),
        (sort.Config(attention="none", output_context=False), "--output_context is False, but has no effect"),
        *(
            (config, "--heads is 4; expected a divisor of --size, 6, for a Transformer")
            for config in (
                lm.Config(model="transformer", size=6, heads=4),
                sort.Config(encoder="transformer", size=6, heads=4),
            )
        ),
        (
            classify.Config(latent=classify.LatentTreeConfig(hidden=9)),
            "--latent.hidden is 9, .* --model latent",
        ),
        (
            dictionary.Config(latent=classify.LatentTreeConfig(tree="flat")),
            "--latent.tree is flat, but has no effect",
        ),
        (
            latent(tree="flat", estimator="topk"),
            "--latent.estimator is topk, .* it needs --latent.tree latent",
        ),
        (lm.Config(model="hmm", features="favor"), "--features is favor, but has no effect"),
        (lm.Config(model="lstm", temperature=2.0), "--temperature is 2.0, .* it needs --model hmm or lowrank-hmm"),
        (lm.Config(model="pcfg", vectors="tied"), "--vectors is tied, but has no effect"),
        (lm.Config(model="ngram", blocks=4), "--blocks is 4, but has no effect"),
        (lm.Config(clusters="paths"), "--clusters is paths, but has no effect; it needs --blocks"),
        (lm.Config(model="lstm", states=8), "--states is 8, .* it needs --model hmm or lowrank-hmm"),
        (lm.Config(model="ngram", state_dropout=0.0), "--state_dropout is 0.0, but has no effect"),
        (lm.Config(model="hmm", feature_dropout=0.0), "--feature_dropout is 0.0, .* it needs --model lowrank-hmm"),
        (lm.Config(model="hmm", rank=8), "--rank is 8, .* needs --model lowrank-hmm, lowrank-pcfg, mfa or pt"),
        (lm.Config(nonterminals=4), "--nonterminals is 4, .* it needs --model pcfg or lowrank-pcfg"),
        (lm.Config(model="hmm", preterminals=4), "--preterminals is 4, but has no effect"),
        (lm.Config(model="rnn", latent=4), "--latent is 4, but has no effect"),
        (lm.Config(model="transformer", iterations=2), "--iterations is 2, .* it needs --model mfa or pt"),
        (lm.Config(model="mfa", heads=2), "--heads is 2, .* it needs --model pt or transformer"),
        (lm.Config(model="pt", layers=2), "--layers is 2, .* needs --model rnn, lstm, mfa or transformer"),
        (lm.Config(dropout=0.0), "--dropout is 0.0, .* needs --model rnn, lstm, mfa, pt or transformer"),
        (lm.Config(order=3), "--order is 3, .* it needs --model ngram"),
        (lm.Config(model="ngram", size=8), "--size is 8, .* it needs a --model other than ngram"),
        (lm.Config(model="lstm", context=8), "--context is 8, .* needs --text stream, or --model mfa, pt or"),
        (sort.Config(attention="additive", iterations=1), "--iterations is 1, .* it needs --attention mean-field"),
        (count.Config(attention="none", damping=0.0), "--damping is 0.0, .* it needs --attention mean-field"),
        (sort.Config(attention="none", rivalry=1.0), "--rivalry is 1.0, .* it needs .* --attention mean-field"),
        (sort.Config(heads=2), "--heads is 2, .* it needs --encoder transformer"),
        (lm.Config(states=10, blocks=4), "--blocks is 4; expected a divisor of --states, 10"),
        (latent(tree="given", arc_size=9), "--latent.arc_size is 9, but has no effect"),
        (dependency.Config(unlabelled="raw.txt"), "--unlabelled is raw.txt, .* it needs --criterion tree"),
        (
            dependency.Config(
                unlabelled="raw.txt",
                criterion="tree",
                encoder=EncoderConfig(kind="pretrained", pretrained="m"),
            ),
            "--unlabelled needs an encoder with a vocabulary of words",
        ),
        (latent(tree="flat", detach=False), "--latent.detach is False, but has no effect"),
        (encoder("bilstm", pt=MeanFieldConfig(rank=9)), "--encoder.pt.rank is 9.*it needs --encoder.kind pt"),
        (
            classify.Config(token="cls", encoder=EncoderConfig(kind="pt", pt=MeanFieldConfig(root_labels=9))),
            "--token is cls, but has no effect; it needs --model encoder, and no root",
        ),
        *(
            (encoder("pt", pt=MeanFieldConfig(shared=True, decomposition=name)), f"{name} shares its factors")
            for name in ("weighted", "biased")
        ),
        (encoder("pt", pt=MeanFieldConfig(shared=True, distance=None)), "distance null all scores are shared"),
        (classify.Config(token="cls", model="latent-tree"), "--token is cls, but has no effect"),
        (
            encoder("pt", pt=MeanFieldConfig(symmetric=True, tells_heads=False)),
            "--encoder.pt.tells_heads is False, .* it needs --encoder.pt.symmetric false, or .*messages both",
        ),
        (
            encoder("pt", pt=MeanFieldConfig(decomposition="full", rank=8)),
            "--encoder.pt.rank is 8, .* it needs a --encoder.pt.decomposition other than full",
        ),
        (
            encoder("pt", pt=MeanFieldConfig(feature_choice="all-dep")),
            "--encoder.pt.feature_choice is all-dep, .* it needs --encoder.pt.features",
        ),
        (
            encoder("pt", pt=MeanFieldConfig(symmetric_messages="both")),
            "--encoder.pt.symmetric_messages is both, .* it needs --encoder.pt.symmetric true",
        ),
        (
            TaskConfig(optimizer=OptimizerConfig(halve_after=3)),
            "--optimizer.halve_after is 3, .* it needs --optimizer.schedule halving",
        ),
        (
            TaskConfig(optimizer=OptimizerConfig(schedule="halving", warmup=0.1)),
            "--optimizer.warmup is 0.1, .* it needs --optimizer.schedule linear",
        ),
        (ner.Config(scheme="bioes"), "--scheme is bioes, but has no effect; it needs --criterion flat"),
        (ner.Config(average="sentences"), "--average is sentences, but has no effect"),
        (ner.Config(decoder="softmax"), "--decoder is softmax, but has no effect"),
        (encoder("pt", pretrained="m"), "--encoder.pretrained is m, but has no effect"),
        (
            encoder("pt", fine_tuning=FineTuningConfig(lora=9)),
            "--encoder.fine_tuning.lora is 9, but has no effect",
        ),
        (
            classify.Config(token="cls", encoder=EncoderConfig(kind="lstm")),
            "--token cls comes before the words",
        ),
        (encoder("lstm", transformer=TransformerConfig(reach=9)), "--encoder.transformer.reach is 9"),
        (latent(count=3), "--latent.count is 3, .* it needs --latent.estimator topk or sample"),
        (
            latent(count=1, estimator="sample"),
            "--latent.count is 1; --latent.estimator sample needs 2 or more",
        ),
        (
            listops.Config(structure="flat", estimator="topk"),
            "--estimator is topk, .* it needs --structure tree",
        ),
        (
            listops.Config(structure="tree-budget", estimator="topk"),
            "--estimator is topk, but has no effect",
        ),
        (listops.Config(budget=3), "--budget is 3, .* it needs --structure tree-budget"),
        (
            listops.Config(structure="gold", iterations=9),
            "--iterations is 9, .* it needs --structure tree-budget,",
        ),
        (listops.Config(estimator="argmax", iterations=9), "--iterations is 9, but has no effect"),
        (listops.Config(target="value"), "--target value needs --reads words"),
        (
            nli.Config(attention="crf", iterations=9),
            "--iterations is 9, .* it needs --attention lp-matching or lp",
        ),
        (nli.Config(latent=classify.LatentTreeConfig(hidden=9)), "--latent.hidden is 9, .* --model latent-tree"),
        (nli.Config(model="latent-tree", attention="crf"), "--attention is crf, .* it needs --model attention"),
        (nli.Config(model="latent-tree", iterations=9), "--iterations is 9, but has no effect"),
        (
            nli.Config(model="latent-tree", scaled_scores=False),
            "--scaled_scores is False, .* it needs --model attention",
        ),
        (
            tag.Config(criterion="bits", partial=True),
            "--partial is True, but has no effect; it needs --criterion crf or cross-entropy",
        ),
        (
            dependency.Config(criterion="hinge", partial=True),
            "--partial is True, .* it needs --criterion tree or head, and no --unlabelled",
        ),
        (
            dependency.Config(criterion="tree", unlabelled="raw.txt", partial=True),
            "--partial is True, .* it needs --criterion tree or head, and no --unlabelled",
        ),
        *(
            (ner.Config(criterion=criterion, partial=True), "--partial is True, .* needs --criterion likelihood")
            for criterion in ("margin", "bits")
        ),
        (published(temperature=0.1), "--temperature is 0.1, .* it needs --criterion bits"),
        (published(tree_weight=0), "--tree_weight is 0, .* it needs --criterion bits"),
        (published(code_words="learned"), "--code_words is learned, .* it needs --criterion bits"),
        (constituency.Config(bits=9), "--bits is 9, .* it needs --criterion bits or bits-published"),
        (constituency.Config(criterion="margin", variant="sup"), "--variant is sup, .* it needs --criterion bits"),
        (constituency.Config(temperature=1.0), "--temperature is 1.0, .* it needs --criterion bits"),
        (ner.Config(criterion="flat", span_size=9), "--span_size is 9, .* needs --criterion likelihood or margin"),
        (published(label_size=9), "--label_size is 9, .* it needs --criterion likelihood, margin or bits"),
        (published(span_size=9), "--span_size is 9, .* it needs --criterion likelihood or margin"),
    ],
)
def test_options_that_do_not_fit_together_or_would_not_be_read(config, message):
    with pytest.raises(SettingError, match=message):
        ranges.require_valid(config)


@pytest.mark.parametrize(
    "config",
    [
        latent(hidden=9, arc_size=9, reader="gcn"),
        classify.Config(token="cls"),
        ner.Config(criterion="flat", scheme="bioes", decoder="softmax"),
        classify.Config(
            encoder=EncoderConfig(kind="pt", pt=MeanFieldConfig(root_labels=9, root_output="probabilities"))
        ),
        encoder("pt", pt=MeanFieldConfig(rank=9, shared=True)),
        encoder("pt", pt=MeanFieldConfig(shared=True, distance=0, decomposition="full")),
        TaskConfig(optimizer=OptimizerConfig(schedule="halving", halve_after=3)),
        encoder("pt", pt=MeanFieldConfig(penalty=0.1, penalised="squares")),
        encoder("pt", pt=MeanFieldConfig(symmetric=True, symmetric_messages="both")),
        encoder("pt", pt=MeanFieldConfig(label_weight=0.5, weighted_start=True)),
        table(words=8, characters="none", affixes=0),
        encoder("pretrained", pretrained="m", fine_tuning=FineTuningConfig(lora=9)),
        latent(tree="flat", hidden=9),
        latent(count=1, estimator="topk"),
        latent(count=2, estimator="sample"),
        listops.Config(estimator="sparsemap", iterations=9),
        listops.Config(structure="tree-budget", iterations=9, budget=3),
        listops.Config(structure="right-branching"),
        listops.Config(target="value", reads="words"),
        nli.Config(attention="lp-sequence", iterations=9),
        lm.Config(model="lowrank-pcfg", rank=8, nonterminals=4, preterminals=4, latent=4, size=8),
        lm.Config(model="hmm", states=8, state_dropout=0.0, text="stream", context=8),
        lm.Config(model="mfa", rank=8, iterations=1, layers=2, context=8, dropout=0.0),
        lm.Config(model="pt", rank=8, iterations=1, heads=2, context=8, dropout=0.0),
        lm.Config(model="transformer", layers=2, heads=4, size=8, context=8, dropout=0.0),
        lm.Config(model="ngram", order=3),
        sort.Config(encoder="transformer", heads=2, rivalry=1.0, iterations=1, damping=0.0),
        published(bits=12, variant="sup", tag_weight=0.0),
        constituency.Config(criterion="bits", temperature=0.1, tree_weight=0, label_size=9),
    ],
)
def test_options_that_are_read(config):
    ranges.require_valid(config)


def test_what_is_not_used_need_not_fit():
    ranges.require_valid(TaskConfig(encoder=EncoderConfig(kind="bilstm", heads=7)))
    ranges.require_valid(TaskConfig(encoder=EncoderConfig(characters="none", character_size=97)))
    ranges.require_valid(tag.Config(constraints="bio", criterion="crf"))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (tag.Config(criterion="softmax"), "--criterion is 'softmax'; expected 'cross-entropy', 'crf', 'bits'"),
        (encoder("gru"), "--encoder.kind is 'gru'; expected 'bilstm', 'lstm'"),
        (encoder("pt", pt=MeanFieldConfig(order="any")), "--encoder.pt.order is 'any'; expected 'asynchronous'"),
        (sort.Config(attention=None), "--attention is None; expected 'none', 'dot-product'"),
        (ner.Config(criterion="flat", decoder="argmax"), "--decoder is 'argmax'; expected 'crf', 'softmax'"),
        (tag.Config(trainer=TrainerConfig(epochs=2.5)), r"--trainer.epochs is 2.5; expected a whole number$"),
        (tag.Config(trainer=TrainerConfig(epochs="3")), r"--trainer.epochs is '3'; expected a whole number$"),
        (tag.Config(criterion="crf", partial="no"), r"--partial is 'no'; expected true or false$"),
        (tag.Config(train=Path("a.conllu")), r"--train is PosixPath\('a.conllu'\); expected text$"),
        (tag.Config(optimizer=OptimizerConfig(learning_rate=float("inf"))), r"--optimizer.learning_rate is inf"),
        (tag.Config(encoder="bilstm"), r"--encoder is of type str; expected EncoderConfig$"),
    ],
)
def test_a_value_that_could_not_be_saved_and_loaded_is_refused(config, message):
    with pytest.raises(SettingError, match=f"^{message}"):
        ranges.require_valid(config)
