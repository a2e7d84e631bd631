"""Models of all tasks that are made in a moment, and the corpora that they can learn by heart."""

import io

from tests import tiny_corpora
from tests.data.logical_forms import random_logical_forms

from strukt.data import conllu, listops
from strukt.data.classes import labelled, pairs
from strukt.data.listops.expressions import expressions, parse
from strukt.tasks import classify, cogs, count, dictionary, lm, mlm, nli, sort
from strukt.tasks import listops as listops_task
from strukt.tasks.classify.model import Classifier
from strukt.tasks.cogs.model import SemanticParser
from strukt.tasks.constituency.model import ConstituencyParser
from strukt.tasks.count.model import ChunkCounter
from strukt.tasks.dependency.model import Parser
from strukt.tasks.dictionary.model import ReverseDictionary
from strukt.tasks.listops.model import ListModel
from strukt.tasks.lm.model import LanguageModel
from strukt.tasks.mlm.model import MaskedLanguageModel
from strukt.tasks.ner.model import EntityModel
from strukt.tasks.nli.model import EntailmentModel
from strukt.tasks.pipeline.model import Pipeline
from strukt.tasks.sort.model import Sorter
from strukt.tasks.tag.model import Tagger

TREES = tiny_corpora.trees(30)
URL = conllu.from_forms(["www." + "abcdefgh" * 4]).annotated(
    xpos=["NN"], upos=["X"], head=[0], deprel=["root"]
)
SHORT = [conllu.from_forms(["oh"]).annotated(xpos=["UH"], upos=["X"], head=[0], deprel=["root"])] * 20
LINES = "".join(f"{'good' if n % 2 else 'bad'}\t{'a very ' * (n % 7)}dull film\n" for n in range(30))
CLASSES = list(labelled.read(io.BytesIO(LINES.encode())))
OPPOSITES = "".join(
    f"{'a ' * (n % 9)}man\tso{'o' * (n % 4)} he\t{'no' if n % 2 else 'yes'}\n" for n in range(30)
)
PAIRS = list(pairs.read(io.BytesIO(OPPOSITES.encode())))
LISTS = "".join(f"{parse(text).value}\t{text}\n" for text in expressions(30, ["[MIN", "[MAX"], 4, 3, 12, 0))
NUMBERS = [conllu.from_forms(list("0110100110"[: 1 + n % 10])) for n in range(40)]
SIZES = {"states": 8, "rank": 4, "size": 8, "nonterminals": 4, "preterminals": 4, "context": 8}

ENCODED = {
    "tag": (Tagger, tiny_corpora.tag_config(), [*TREES, URL, *SHORT]),
    "dependency": (Parser, tiny_corpora.dependency_config(), [*TREES, URL, *SHORT]),
    "constituency": (ConstituencyParser, tiny_corpora.constituency_config(), tiny_corpora.phrases(30)),
    "ner": (EntityModel, tiny_corpora.ner_config(), tiny_corpora.nested(30)),
    "ner bits": (EntityModel, tiny_corpora.ner_config(criterion="bits"), tiny_corpora.nested(30)),
    "pipeline": (Pipeline, tiny_corpora.pipeline_config(entities="nested"), tiny_corpora.layers(30)),
    "classify": (Classifier, tiny_corpora.small(classify.Config()), CLASSES),
    "dictionary": (ReverseDictionary, tiny_corpora.small(dictionary.Config()), CLASSES),
    "nli": (EntailmentModel, tiny_corpora.small(nli.Config(size=8)), PAIRS),
    "nli trees": (EntailmentModel, tiny_corpora.small(nli.Config(size=8, model="latent-tree")), PAIRS),
    "cogs": (
        SemanticParser,
        tiny_corpora.small(cogs.Config(hide=0.5)),
        random_logical_forms.read(random_logical_forms.lines(30, depth=1)),
    ),
    "listops": (
        ListModel,
        tiny_corpora.small(listops_task.Config(arc_size=8, size=8)),
        list(listops.read(io.BytesIO(LISTS.encode()))),
    ),
}
OTHERS = {
    "mlm": (MaskedLanguageModel, tiny_corpora.small(mlm.Config()), [*TREES, URL, *SHORT]),
    "sort": (Sorter, sort.Config(size=8), NUMBERS),
    "count": (ChunkCounter, count.Config(size=8), NUMBERS),
    "lm": (LanguageModel, lm.Config(model="lowrank-hmm", **SIZES), TREES),
    "lm stream": (LanguageModel, lm.Config(model="lstm", text="stream", **SIZES), TREES),
    "lm pcfg": (LanguageModel, lm.Config(model="pcfg", **SIZES), tiny_corpora.phrases(40)),
}
