"""Layers: structured output layers, the scorers that feed them, and encoders."""

from typing import Any

from strukt.missing_names import missing_name
from strukt.nn.attention import AdditiveAttention, Attention, DotProductAttention
from strukt.nn.attention_hash import AttentionHash
from strukt.nn.beliefs import Updates
from strukt.nn.biaffine import Biaffine
from strukt.nn.convolution import GatedConvolution
from strukt.nn.crf import CRF
from strukt.nn.crf_autoencoder import CRFAutoencoder
from strukt.nn.decomposable_attention import DecomposableAttention
from strukt.nn.dropout import SharedDropout
from strukt.nn.embeddings import CharacterCNN, CharacterLSTM, WordEmbeddings
from strukt.nn.encoder_decoder import EncoderDecoder
from strukt.nn.encoders import LSTM, RNN, BiLSTM
from strukt.nn.feature_maps import (
    ExponentialFeatures,
    FourierFeatures,
    LinearFeatures,
    NystromFeatures,
    SoftplusFeatures,
)
from strukt.nn.joint_perceptron import JointPerceptron
from strukt.nn.kneser_ney import KneserNey
from strukt.nn.latent_structure import LatentStructure, Mixture
from strukt.nn.mapping_losses import (
    Entmax15Loss,
    EntmaxLoss,
    FusedmaxLoss,
    NormmaxLoss,
    OscarmaxLoss,
    RelaxedBudgetLoss,
    RelaxedSubsetLoss,
    SparsemaxLoss,
)
from strukt.nn.mappings import (
    Entmax,
    Entmax15,
    Fusedmax,
    Normmax,
    Oscarmax,
    RelaxedBudget,
    RelaxedSubset,
    Sparsemax,
)
from strukt.nn.mean_field_attention import MeanFieldAttention
from strukt.nn.mean_field_encoder import MeanFieldEncoder
from strukt.nn.neural_hmm import NeuralHMM
from strukt.nn.neural_pcfg import CompoundPCFG, NeuralPCFG
from strukt.nn.probabilistic_transformer import ProbabilisticTransformer
from strukt.nn.published_transformer import PublishedTransformer
from strukt.nn.structured_attention import StructuredAttention
from strukt.nn.tag_constraints import Constraints, bio_constraints, tag_constraints
from strukt.nn.transduction import SequenceRegressor, SequenceTransducer
from strukt.nn.transformer import Transformer
from strukt.nn.tree_gcn import TreeGCN
from strukt.nn.tree_lstm import ChildSumTreeLSTM, TreeStates
from strukt.nn.variational_attention import VariationalAttention
from strukt.nn.word_hash_layer import HashLayer

__all__ = [
    "CRF",
    "LSTM",
    "RNN",
    "AdditiveAttention",
    "Attention",
    "AttentionHash",
    "BiLSTM",
    "Biaffine",
    "CRFAutoencoder",
    "CharacterCNN",
    "CharacterLSTM",
    "ChildSumTreeLSTM",
    "CompoundPCFG",
    "Constraints",
    "DecomposableAttention",
    "DotProductAttention",
    "EncoderDecoder",
    "Entmax",
    "Entmax15",
    "Entmax15Loss",
    "EntmaxLoss",
    "ExponentialFeatures",
    "FourierFeatures",
    "Fusedmax",
    "FusedmaxLoss",
    "GatedConvolution",
    "HashLayer",
    "JointPerceptron",
    "KneserNey",
    "LatentStructure",
    "LinearFeatures",
    "MeanFieldAttention",
    "MeanFieldEncoder",
    "Mixture",
    "NeuralHMM",
    "NeuralPCFG",
    "Normmax",
    "NormmaxLoss",
    "NystromFeatures",
    "Oscarmax",
    "OscarmaxLoss",
    "ProbabilisticTransformer",
    "PublishedTransformer",
    "RelaxedBudget",
    "RelaxedBudgetLoss",
    "RelaxedSubset",
    "RelaxedSubsetLoss",
    "SequenceRegressor",
    "SequenceTransducer",
    "SharedDropout",
    "SoftplusFeatures",
    "Sparsemax",
    "SparsemaxLoss",
    "StructuredAttention",
    "Transformer",
    "TreeGCN",
    "TreeStates",
    "Updates",
    "VariationalAttention",
    "WordEmbeddings",
    "bio_constraints",
    "tag_constraints",
]


def __getattr__(name: str) -> Any:
    raise missing_name("strukt.nn", name)
