"""The open corpora that strukt fetches, each pinned to one version."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from strukt.data.corpora import conversions
from strukt.data.corpora.conversions import SOURCE
from strukt.data.corpora.sources import Corpus, Snapshot, published

_GUM = Snapshot("amir-zeldes/gum", "72ce5ac14978a324c2fd18d49484e65292cbe316")
_LITBANK = Snapshot("dbamman/litbank", "3e50db0ffc033d7ccbb94f4d88f6b99210328ed8")
_WNUT = Snapshot("leondz/emerging_entities_17", "e52a2d2a71ac1a051ca2d532eef28653c5c02603")
_SNIPS = Snapshot("sonos/nlu-benchmark", "b86ac7f1577868c42158d0dec77db50956046696")
_INTENTS, _MUSIC = "2017-06-custom-intent-engines/", "PlayMusic/train_PlayMusic_full.json"
_COGS = Snapshot("najoungkim/COGS", "165a7b669eade971fa47bf568a2e51925360fed8")
_SPINN = Snapshot("nyu-mll/spinn", "0e24a35c7be00e9f67814b0c846c3095cfe7632b")
_EXAMPLES = Snapshot("pytorch/examples", "77f55b912142e11fcfdf5b530231fb9c52f181e8")
_NLTK = Snapshot("nltk/nltk_data", "5db857e6f7df11eabb5e5665836db9ec8df07e28")

_CORPORA = (
    Corpus(
        name="gum",
        home="https://github.com/amir-zeldes/gum",
        version=f"11.1.0, commit {_GUM.commit}, the genres under open licences",
        licence="annotations CC BY 4.0; texts CC BY, CC BY-SA 3.0 or public domain, by genre: see LICENSE.txt",
        citation="Amir Zeldes (2017). The GUM Corpus: Creating Multilayer Resources in the Classroom. Language"
        " Resources and Evaluation 51(3), 581-612.",
        files=(*_GUM.below(to=f"{SOURCE}/"), _GUM.licence("LICENSE.txt")),
        commands=(
            "constituency --train {}/train.ptb --dev {}/dev.ptb",
            "ner --train {}/train.conllu --dev {}/dev.conllu",
            "dependency --train {}/train.conllu --dev {}/dev.conllu",
            "pipeline --train {}/train.conllu --dev {}/dev.conllu",
        ),
        conversion=conversions.gum,
    ),
    Corpus(
        name="litbank",
        home="https://github.com/dbamman/litbank",
        version=f"commit {_LITBANK.commit}",
        licence="CC BY 4.0; texts in the public domain",
        citation="David Bamman, Sejal Popat, Sheng Shen (2019). An Annotated Dataset of Literary Entities. "
        "NAACL 2019.",
        files=_LITBANK.below("entities/tsv/", f"{SOURCE}/"),
        commands=("ner --train {}/train.tsv --dev {}/dev.tsv",),
        conversion=conversions.litbank,
    ),
    Corpus(
        name="wnut17",
        home="https://noisy-text.github.io/2017/emerging-rare-entities.html",
        version=f"commit {_WNUT.commit}",
        licence="CC BY 4.0",
        citation="Leon Derczynski, Eric Nichols, Marieke van Erp, Nut Limsopatham (2017). Results of the "
        "WNUT2017 Shared Task on Novel and Emerging Entity Recognition. W-NUT 2017.",
        files=_WNUT.below(),
        commands=(
            "tag --train {}/wnut17train.conll --dev {}/emerging.dev.conll --criterion crf --constraints bio",
        ),
    ),
    Corpus(
        name="snips",
        home="https://github.com/sonos/nlu-benchmark",
        version=f"2017-06, commit {_SNIPS.commit}",
        licence="CC0 1.0",
        citation="Alice Coucke et al. (2018). Snips Voice Platform: an embedded Spoken Language Understanding "
        "system for private-by-design voice interfaces. arXiv:1805.10190.",
        files=(
            *_SNIPS.below(_INTENTS, f"{SOURCE}/"),
            published(f"{_SNIPS.root}{_INTENTS}{_MUSIC}", f"{SOURCE}/{_MUSIC}"),
            _SNIPS.licence(),
        ),
        commands=(
            "classify --train {}/intents-train.tsv --dev {}/intents-dev.tsv",
            "tag --train {}/slots-train.tsv --dev {}/slots-dev.tsv --criterion crf --constraints bio",
        ),
        conversion=conversions.snips,
    ),
    Corpus(
        name="cogs",
        home="https://github.com/najoungkim/COGS",
        version=f"commit {_COGS.commit}",
        licence="MIT",
        citation="Najoung Kim and Tal Linzen (2020). COGS: A Compositional Generalization Challenge Based on "
        "Semantic Interpretation. EMNLP 2020.",
        files=(*_COGS.below("data/"), _COGS.licence()),
        commands=("cogs --train {}/train.tsv --dev {}/dev.tsv",),
    ),
    Corpus(
        name="listops",
        home="https://github.com/nyu-mll/spinn",
        version=f"commit {_SPINN.commit}, the test files",
        licence="MIT, Copyright 2018 New York University",
        citation="Nikita Nangia and Samuel R. Bowman (2018). ListOps: A Diagnostic Dataset for Latent Tree "
        "Learning. NAACL Student Research Workshop.",
        files=(
            *_SPINN.below("python/spinn/data/listops/", f"{SOURCE}/"),
            _SPINN.licence(),
        ),
        commands=(
            "listops --train {}/d20s-train.tsv --dev {}/d20s-dev.tsv",
            "listops --train {}/d8-train.tsv --dev {}/d8-dev.tsv",
        ),
        conversion=conversions.listops,
    ),
    Corpus(
        name="wikitext-2",
        home="https://huggingface.co/datasets/Salesforce/wikitext",
        version=f"words with <unk>, as in pytorch/examples, commit {_EXAMPLES.commit}",
        licence="CC BY-SA 3.0",
        citation="Stephen Merity, Caiming Xiong, James Bradbury, Richard Socher (2016). Pointer Sentinel "
        "Mixture Models. arXiv:1609.07843.",
        files=_EXAMPLES.below("word_language_model/data/wikitext-2/"),
        commands=(
            "lm --train {}/train.txt --dev {}/valid.txt --text stream",
            "mlm --train {}/train.txt --dev {}/valid.txt",
        ),
    ),
    Corpus(
        name="sentence-polarity",
        home="https://www.cs.cornell.edu/people/pabo/movie-review-data/",
        version=f"1.0, as in nltk/nltk_data, commit {_NLTK.commit}",
        licence="CC BY 4.0, Copyright 2005 Bo Pang and Lillian Lee",
        citation="Bo Pang and Lillian Lee (2005). Seeing stars: Exploiting class relationships for sentiment "
        "categorization with respect to rating scales. ACL 2005.",
        files=(
            published(
                f"{_NLTK.root}packages/corpora/sentence_polarity.zip",
                f"{SOURCE}/sentence_polarity.zip",
            ),
        ),
        commands=("classify --train {}/train.tsv --dev {}/dev.tsv",),
        conversion=conversions.polarity,
    ),
    Corpus(
        name="snli",
        home="https://nlp.stanford.edu/projects/snli/",
        version="1.0",
        licence="CC BY-SA 4.0",
        citation="Samuel R. Bowman, Gabor Angeli, Christopher Potts, Christopher D. Manning (2015). A large "
        "annotated corpus for learning natural language inference. EMNLP 2015.",
        files=(published("https://nlp.stanford.edu/projects/snli/snli_1.0.zip", f"{SOURCE}/snli_1.0.zip"),),
        commands=("nli --train {}/train.tsv --dev {}/dev.tsv",),
        conversion=conversions.snli,
    ),
)

CORPORA: Mapping[str, Corpus] = MappingProxyType({corpus.name: corpus for corpus in _CORPORA})
"""The open corpora by name, except the treebanks of Universal Dependencies."""
