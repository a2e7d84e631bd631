"""What precision auto does where the hardware multiplies in bfloat16: every task learns, as in float32."""

import copy

import pytest
import torch
from tests import tiny_corpora
from tests.tiny_models import CLASSES, PAIRS

from strukt.data import conllu
from strukt.tasks import classify, lm, mlm, ner, nli
from strukt.tasks.classify.model import Classifier
from strukt.tasks.constituency.model import ConstituencyParser
from strukt.tasks.dependency.model import Parser
from strukt.tasks.lm.model import LanguageModel
from strukt.tasks.mlm.model import MaskedLanguageModel
from strukt.tasks.ner.model import EntityModel
from strukt.tasks.nli.model import EntailmentModel
from strukt.tasks.tag.model import Tagger

TREES, PHRASES, NESTED = tiny_corpora.trees(9), tiny_corpora.phrases(9), tiny_corpora.nested(9)
TEXTS = [conllu.from_forms(sentence.forms) for sentence in TREES]
SIZES = {"states": 8, "rank": 4, "size": 16, "state_dropout": 0.0, "feature_dropout": 0.0, "dropout": 0.0}
LATENT = {"model": "latent-tree", "latent": classify.LatentTreeConfig(hidden=16, arc_size=8)}
SOFT = {
    "model": "latent-tree",
    "latent": classify.LatentTreeConfig(hidden=16, arc_size=8, reader="gcn", estimator="marginals"),
}

TASKS = (
    {
        "tag": (Tagger, tiny_corpora.tag_config(), TREES),
        "tag crf": (Tagger, tiny_corpora.tag_config(criterion="crf"), TREES),
        "constituency": (ConstituencyParser, tiny_corpora.constituency_config(), PHRASES),
        "constituency bits": (
            ConstituencyParser,
            tiny_corpora.constituency_config(criterion="bits"),
            PHRASES,
        ),
        "ner": (EntityModel, tiny_corpora.ner_config(), NESTED),
        "ner bits": (EntityModel, tiny_corpora.ner_config(criterion="bits"), NESTED),
        "ner flat": (EntityModel, tiny_corpora.small(ner.Config(criterion="flat")), NESTED),
        "mlm": (MaskedLanguageModel, tiny_corpora.small(mlm.Config()), TEXTS),
        "classify by trees": (Classifier, tiny_corpora.small(classify.Config(**LATENT)), CLASSES),
        "classify by soft trees": (Classifier, tiny_corpora.small(classify.Config(**SOFT)), CLASSES),
        "nli": (EntailmentModel, tiny_corpora.small(nli.Config(attention="lp-matching", size=24)), PAIRS),
        "nli by trees": (EntailmentModel, tiny_corpora.small(nli.Config(**LATENT)), PAIRS),
    }
    | {
        f"dependency {criterion}": (Parser, tiny_corpora.dependency_config(criterion=criterion), TREES)
        for criterion in ("head", "tree", "sparsemap", "sparsemap-margin", "hinge")
    }
)
LANGUAGE_MODELS = ["hmm", "lowrank-hmm", "pcfg", "lowrank-pcfg", "rnn", "lstm", "mfa", "pt", "transformer"]


@pytest.mark.thinned("encoder", "task")
@pytest.mark.parametrize("encoder", ["bilstm", "transformer", "pt"])
@pytest.mark.parametrize("task", TASKS)
def test_losses_and_gradients_are_about_those_of_float32(task, encoder):
    kind, config, sentences = TASKS[task]
    config = copy.deepcopy(config)
    config.encoder.kind, config.encoder.dropout, config.encoder.word_dropout = encoder, 0.0, 0.0
    require_about_the_same(kind, config, sentences)


@pytest.mark.parametrize("kind", LANGUAGE_MODELS)
def test_losses_and_gradients_of_language_models(kind):
    require_about_the_same(LanguageModel, lm.Config(model=kind, **SIZES), TEXTS)


def require_about_the_same(kind, config, sentences):
    torch.manual_seed(0)
    trainable = list(kind.trainable(config, sentences))
    model = kind.from_corpus(config, trainable)
    batch = model.collate(trainable)
    losses = []
    for half in (False, True):
        torch.manual_seed(1)
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            losses.append(model.loss(batch))
    losses[1].backward()
    assert losses[1].item() == pytest.approx(losses[0].item(), rel=0.05)
    grads = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    assert grads
    assert all(torch.isfinite(grad).all() for grad in grads)
