"""Small models that know a few sentences, one of each kind that is served."""

from functools import cache

from tests import tiny_corpora
from tests.tasks.learning import learned

from strukt.tasks.constituency.model import ConstituencyParser
from strukt.tasks.dependency.model import Parser
from strukt.tasks.ner.model import EntityModel
from strukt.tasks.pipeline.model import Pipeline
from strukt.tasks.tag.model import Tagger

TEXT = "the old cat sees a dog"


@cache
def parser(**options):
    config = tiny_corpora.dependency_config(**{"criterion": "tree", **options})
    return learned(Parser, config, tiny_corpora.trees(12), 12)[0]


@cache
def tagger():
    return learned(Tagger, tiny_corpora.tag_config(criterion="crf"), tiny_corpora.trees(12), 12)[0]


@cache
def constituency(criterion="likelihood"):
    config = tiny_corpora.constituency_config(criterion=criterion)
    return learned(ConstituencyParser, config, tiny_corpora.phrases(12), 20)[0]


@cache
def ner(criterion="likelihood", **options):
    config = tiny_corpora.ner_config(criterion=criterion, **options)
    return learned(EntityModel, config, tiny_corpora.nested(12), 20)[0]


@cache
def pipeline():
    config = tiny_corpora.pipeline_config(entities="nested")
    return learned(Pipeline, config, tiny_corpora.layers(12), 20)[0]


def several():
    """By name, one of each task with a distribution."""
    return {
        "parser": parser(),
        "tagger": tagger(),
        "constituency": constituency(),
        "ner": ner(),
        "pipeline": pipeline(),
    }


KINDS = {
    "parser": parser,
    "projective": lambda: parser(trees="projective"),
    "tagger": tagger,
    "constituency": constituency,
    "codes": lambda: constituency("bits"),
    "ner": ner,
    "flat": lambda: ner("flat"),
    "softmax": lambda: ner("flat", decoder="softmax"),
    "pipeline": pipeline,
}
