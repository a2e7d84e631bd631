"""Layers: scorers that end in a structure, and the encoders below them."""

from strukt.nn.biaffine import Biaffine
from strukt.nn.crf import CRF, Constraints, bio_constraints
from strukt.nn.dropout import SharedDropout
from strukt.nn.embeddings import CharacterCNN, CharacterLSTM, WordEmbeddings
from strukt.nn.encoders import BiLSTM, Transformer

__all__ = [
    "CRF",
    "BiLSTM",
    "Biaffine",
    "CharacterCNN",
    "CharacterLSTM",
    "Constraints",
    "SharedDropout",
    "Transformer",
    "WordEmbeddings",
    "bio_constraints",
]
