"""A tagger and a parser of your own in a pipeline of spaCy: `pip install "strukt[spacy]"`."""

from itertools import product
from tempfile import TemporaryDirectory

import spacy
import torch

from strukt.data import conllu
from strukt.spacy import sentences
from strukt.tasks import dependency, tag
from strukt.tasks.common.encoder.config import EncoderConfig
from strukt.tasks.dependency.model import Parser
from strukt.tasks.tag.model import Tagger
from strukt.train.saved_model import save

nouns, verbs = ["cat", "dog", "fish"], ["sees", "likes"]
corpus = [
    conllu.from_forms(["the", subject, verb, "a", thing, "."]).annotated(
        upos=["DET", "NOUN", "VERB", "DET", "NOUN", "PUNCT"],
        head=[2, 3, 0, 5, 3, 3],
        deprel=["det", "nsubj", "root", "det", "obj", "punct"],
    )
    for subject, verb, thing in product(nouns, verbs, nouns)
]
encoder = EncoderConfig(
    layers=1, hidden=24, words=16, characters="none", affixes=0, minimum_count=1
)
nlp = spacy.blank("en")
nlp.add_pipe("sentencizer")  # each sentence is read by itself
for name, kind, config in [
    ("tagger", Tagger, tag.Config(column="upos", encoder=encoder)),
    ("parser", Parser, dependency.Config(arc_size=32, label_size=16, encoder=encoder)),
]:
    torch.manual_seed(0)
    model = kind.from_corpus(config, corpus)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    for _ in range(30):
        optimizer.zero_grad()
        model.loss(model.collate(corpus)).backward()
        optimizer.step()
    with TemporaryDirectory() as folder:  # `strukt train` writes such a folder
        save(model, folder)
        settings = {"model": folder, "probabilities": True, "k": 2}
        nlp.add_pipe("strukt", name=name, config=settings)

doc = nlp("The dog  likes a fish. The cat sees a dog.")
for sentence in doc.sents:
    print(
        *(
            f"{token.text}/{token.pos_}/{token.dep_}<-{token.head.text}"
            for token in sentence
            if not token.is_space
        )
    )
best, second = (tree["probability"] for tree in doc._.strukt["parser"]["best"][0])
print(f"the best tree is more probable than the second: {best > second}")
print("the words that the models read:", sentences(doc)[0].forms)
