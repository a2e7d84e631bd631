"""Indices of words may have any integer type: narrow ones are not read as masks, and do not overflow."""

import pytest
import torch

from strukt.distributions import Blocked
from strukt.nn import (
    AdditiveAttention,
    BiLSTM,
    CharacterCNN,
    CharacterLSTM,
    CompoundPCFG,
    CRFAutoencoder,
    EncoderDecoder,
    KneserNey,
    NeuralHMM,
    NeuralPCFG,
    SequenceRegressor,
    SequenceTransducer,
    WordEmbeddings,
)
from strukt.nn.recurrent import RecurrentLanguageModel

WORDS = torch.tensor([[0, 1, 2, 1], [2, 2, 0, 1]])
LENGTHS = torch.tensor([4, 3])


def network():
    return EncoderDecoder(BiLSTM(4, 8), 4, 8, AdditiveAttention(8, 16, 5))


def kneser_ney():
    model = KneserNey(3, order=2)
    model.count([WORDS[0], WORDS[1]])
    return model


def embeddings():
    return WordEmbeddings(3, 8, CharacterCNN(3, 9), affixes=[3, 3]).eval()


CALLS = {
    "NeuralPCFG": (lambda: NeuralPCFG(2, 3, 3, size=8), lambda m, x, n: m(x, n).log_partition),
    "CompoundPCFG": (lambda: CompoundPCFG(2, 3, 3, size=8).eval(), lambda m, x, n: m(x, n).trees.log_partition),
    "KneserNey": (kneser_ney, lambda m, x, _: m.log_probs(x)),
    "KneserNey.next": (kneser_ney, lambda m, x, _: m.next(x, x[:, :1])),
    "CRFAutoencoder": (lambda: CRFAutoencoder(3, 8), lambda m, x, _: m(x)),
    "CharacterCNN": (lambda: CharacterCNN(3, 9), lambda m, x, _: m(x)),
    "CharacterLSTM": (lambda: CharacterLSTM(3, 8), lambda m, x, _: m(x)),
    "WordEmbeddings": (embeddings, lambda m, x, _: m(x, x % 2, x, x[:, :2])),
    "WordEmbeddings.of_forms": (embeddings, lambda m, x, _: m.of_forms(x[:, 0], x, x[:, :2])),
    "SequenceTransducer": (lambda: SequenceTransducer(3, 4, network()), lambda m, x, n: m(x, n, x)),
    "SequenceRegressor": (lambda: SequenceRegressor(3, 4, network()), lambda m, x, n: m(x, n)),
    "NeuralHMM": (lambda: NeuralHMM(4, 3, size=8), lambda m, x, n: m().log_prob(x, n)),
    "RecurrentLanguageModel": (lambda: RecurrentLanguageModel(3, 8).eval(), lambda m, x, n: m(x, n)[0]),
    "Blocked": (lambda: torch.zeros(2, 4), lambda m, x, _: Blocked(m, x[0] % 2, 2).table()),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("kind", [torch.int32, torch.int16, torch.uint8])
def test_narrow_indices_give_what_long_ones_give(name, kind):
    make, call = CALLS[name]
    torch.manual_seed(0)
    model = make()
    assert torch.equal(call(model, WORDS.to(kind), LENGTHS.to(kind)), call(model, WORDS, LENGTHS))
