"""Layers refuse sizes, vectors and lengths that do not fit, and take lengths as lists, or none for all n."""

import pytest
import torch

from strukt.distributions import HMM, NonProjectiveTree
from strukt.kernels.buckets import Buckets
from strukt.nn import (
    LSTM,
    AdditiveAttention,
    AttentionHash,
    Biaffine,
    BiLSTM,
    CharacterCNN,
    CharacterLSTM,
    ChildSumTreeLSTM,
    CompoundPCFG,
    DecomposableAttention,
    DotProductAttention,
    EncoderDecoder,
    ExponentialFeatures,
    FourierFeatures,
    JointPerceptron,
    KneserNey,
    LinearFeatures,
    MeanFieldAttention,
    MeanFieldEncoder,
    NeuralHMM,
    NeuralPCFG,
    PublishedTransformer,
    SequenceRegressor,
    SequenceTransducer,
    SoftplusFeatures,
    StructuredAttention,
    Transformer,
    TreeGCN,
    WordEmbeddings,
)
from strukt.nn.dependency_scorer import DependencyScorer
from strukt.nn.latent_trees import TreeScorer
from strukt.nn.recurrent import RecurrentLanguageModel
from strukt.nn.spans import SpanScorer
from strukt.nn.ternary import UV, UVW, FullTernary, WeightedUV

X = torch.randn(2, 4, 8)
SYMBOLS = torch.tensor([[1, 2, 3, 4], [4, 3, 2, 1]])
LENGTHS = torch.tensor([4, 2])
ARCS = NonProjectiveTree(torch.zeros(2, 4, 5), LENGTHS)
HEADS = torch.tensor([[0, 1, 1, 1], [0, 1, 0, 0]])
TREES = torch.nn.functional.one_hot(HEADS, 5) * (torch.arange(4) < LENGTHS[:, None]).float().unsqueeze(-1)


def decoder():
    return EncoderDecoder(LSTM(8, 6), 8, 5, AdditiveAttention(5, 6, 4))


READERS = {
    "LSTM": (lambda: LSTM(8, 6), (X,)),
    "BiLSTM": (lambda: BiLSTM(8, 6), (X,)),
    "Transformer": (lambda: Transformer(8, 6, heads=2), (X,)),
    "PublishedTransformer": (lambda: PublishedTransformer(8, heads=2).eval(), (X,)),
    "MeanFieldEncoder": (lambda: MeanFieldEncoder(8, 6, channels=2, iterations=1, rank=2), (X,)),
    "DotProductAttention": (lambda: DotProductAttention(8, 8, 4), (X[:, :3], X)),
    "AdditiveAttention": (lambda: AdditiveAttention(8, 8, 4), (X[:, :3], X)),
    "MeanFieldAttention": (lambda: MeanFieldAttention(8, 8, 4), (X[:, :3], X)),
    "TreeScorer": (lambda: TreeScorer(8, 4), (X,)),
    "NeuralPCFG": (lambda: NeuralPCFG(2, 3, 9, size=4), (SYMBOLS,)),
    "CompoundPCFG": (lambda: CompoundPCFG(2, 3, 9, size=4, latent=3).eval(), (SYMBOLS,)),
    "SequenceRegressor": (lambda: SequenceRegressor(9, 8, decoder()), (SYMBOLS,)),
    "RecurrentLanguageModel": (lambda: RecurrentLanguageModel(9, 8), (SYMBOLS,)),
    "TreeGCN": (lambda: TreeGCN(8, 6), (X, TREES)),
    "ChildSumTreeLSTM": (lambda: ChildSumTreeLSTM(8, 6), (X, TREES)),
}
"""How each layer that reads sequences is made, and what stands before the lengths."""


def tensors(result):
    """The tensors of a result, of structures their scores and lengths."""
    if isinstance(result, torch.Tensor):
        return [result]
    if hasattr(result, "scores") and not isinstance(result, tuple):
        return [*result.scores, result.lengths]
    return [tensor for part in result if part is not None for tensor in tensors(part)]


@pytest.mark.parametrize("name", READERS)
def test_lengths_may_be_lists(name):
    make, given = READERS[name]
    layer = make()
    for one, other in zip(tensors(layer(*given, [4, 2])), tensors(layer(*given, LENGTHS)), strict=True):
        torch.testing.assert_close(one, other, equal_nan=True)


@pytest.mark.parametrize("name", [name for name in READERS if name not in ("TreeGCN", "ChildSumTreeLSTM")])
def test_without_lengths_all_positions_are_read(name):
    make, given = READERS[name]
    layer = make()
    for one, other in zip(tensors(layer(*given)), tensors(layer(*given, torch.tensor([4, 4]))), strict=True):
        torch.testing.assert_close(one, other, equal_nan=True)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        (torch.tensor([4]), r"lengths has shape \(1,\); expected \(2,\)"),
        (torch.tensor([4, 5]), "lengths holds 5 for batch item 1; expected 0 to 4"),
        (torch.tensor([4.0, 2.0]), "lengths is of type torch.float32"),
        (torch.ones(2, 4, dtype=torch.bool), r"strukt.lengths_from_mask\(mask\)"),
    ],
)
def test_lengths_that_do_not_fit_are_refused(name, lengths, message):
    make, given = READERS[name]
    with pytest.raises(ValueError, match=message):
        make()(*given, lengths)


@pytest.mark.parametrize("name", [name for name, (_, given) in READERS.items() if given[0] is not SYMBOLS])
def test_vectors_of_another_size_or_batch_are_refused(name):
    make, given = READERS[name]
    for index, wrong in [(place, wrong) for place in range(len(given)) for wrong in (X[:1, :, :7], X[0, 0])]:
        with pytest.raises(ValueError, match="expected"):
            make()(*[wrong if place == index else value for place, value in enumerate(given)], LENGTHS)


@pytest.mark.parametrize("name", [name for name, (_, given) in READERS.items() if given[0] is SYMBOLS])
def test_symbols_of_another_shape_or_type_are_refused(name):
    make, _ = READERS[name]
    with pytest.raises(ValueError, match=r"x has shape \(4,\); expected \(batch, n\)"):
        make()(SYMBOLS[0], torch.tensor(4))
    with pytest.raises(ValueError, match=r"x is of type torch.float32"):
        make()(SYMBOLS.float(), LENGTHS)


@pytest.mark.parametrize("name", [name for name, (_, given) in READERS.items() if given[0] is SYMBOLS])
@pytest.mark.parametrize("wrong", [-1, 9])
def test_symbols_outside_the_vocabulary_are_refused_within_the_lengths_alone(name, wrong):
    make, _ = READERS[name]
    layer, x = make(), SYMBOLS.clone()
    x[1, 3] = wrong
    for one, other in zip(tensors(layer(x, LENGTHS)), tensors(layer(SYMBOLS, LENGTHS)), strict=True):
        if one.shape[1:2] == (4,):  # what stands in the padding differs, and is never read
            one, other = one[:, :2], other[:, :2]
        torch.testing.assert_close(one, other, equal_nan=True)
    x[0, 2] = wrong
    with pytest.raises(ValueError, match=f"x holds {wrong} at batch item 0, position 2; expected .* from 0 to 8"):
        layer(x, LENGTHS)


@pytest.mark.parametrize("options", [{}, {"rank": 2}, {"rank": 2, "blocks": torch.arange(9) % 2}], ids=str)
def test_words_outside_the_vocabulary_of_a_neural_hmm_are_refused(options):
    model = NeuralHMM(4, 9, **options)()
    for ask in (model.log_prob, model.viterbi, model.filter, model.smooth):
        with pytest.raises(ValueError, match="x holds 9 at batch item 0, position 1; expected words from 0 to 8"):
            ask(torch.tensor([[3, 9]]))
    fitted = HMM(torch.zeros(2), torch.zeros(2, 2), torch.randn(2, 3)).fit(torch.tensor([[0, 1]]), steps=1).model
    with pytest.raises(ValueError, match="x holds 3"):
        fitted.log_prob(torch.tensor([[3]]))


def test_n_grams_of_words_outside_the_vocabulary_are_refused():
    model = KneserNey(3, order=2)
    with pytest.raises(ValueError, match=r"sentences\[1\] holds 3"):
        model.count([torch.tensor([0, 1]), torch.tensor([3])])
    model.count([torch.tensor([0, 1])])
    with pytest.raises(ValueError, match="x holds -1"):
        model.log_probs(torch.tensor([[0, -1]]))


def test_batches_are_not_broadcast():
    for layer in (DotProductAttention(8, 8, 4), AdditiveAttention(8, 8, 4), MeanFieldAttention(8, 8, 4)):
        with pytest.raises(ValueError, match=r"keys has shape \(2, 4, 8\) and queries \(1, 4, 8\)"):
            layer(X[:1], X)
    biaffine = Biaffine(8, 8, 3)
    with pytest.raises(ValueError, match=r"right has shape \(2, 4, 8\), which does not fit left"):
        biaffine(X[:1], X)
    with pytest.raises(ValueError, match="expected the same batch axes, and for aligned vectors the same n"):
        biaffine.aligned(X[:, :1], X)
    assert biaffine(X[:, :1], X).shape == (2, 1, 4, 3)
    with pytest.raises(ValueError, match=r"left has shape \(2, 4, 7\); expected \(\*batch, n, 8\)"):
        biaffine(X[..., :7], X)
    with pytest.raises(ValueError, match=r"y has shape \(1, 3\) and x"):
        SequenceTransducer(9, 8, decoder())(SYMBOLS, LENGTHS, SYMBOLS[:1, :3])
    with pytest.raises(ValueError, match=r"inputs has shape \(1, 3, 8\) and x"):
        decoder()(X, LENGTHS, X[:1, :3])
    with pytest.raises(ValueError, match=r"context has shape \(1, 3\); expected \(2, 3\)"):
        NeuralPCFG(2, 3, 9, size=4, context=3)(SYMBOLS, LENGTHS, torch.zeros(1, 3))


def test_pairs_of_lengths_may_be_lists_and_are_checked():
    pairs = [[4, 3], [2, 1]]
    align, scores = StructuredAttention(), torch.randn(2, 4, 3)
    torch.testing.assert_close(align(scores, pairs).weights, align(scores, torch.tensor(pairs)).weights)
    compare = DecomposableAttention(8, 6, 3)
    torch.testing.assert_close(
        compare(X, X[:, :3], pairs).scores, compare(X, X[:, :3], torch.tensor(pairs)).scores
    )
    for layer in (lambda lengths: align(scores, lengths), lambda lengths: compare(X, X[:, :3], lengths)):
        with pytest.raises(ValueError, match=r"lengths has shape \(2,\); expected \(2, 2\), rows and columns"):
            layer([4, 2])
        with pytest.raises(ValueError, match=r"lengths\[:, 1\] holds .*expected 0 to 3"):
            layer([[4, 3], [4, 4]])
        with pytest.raises(ValueError, match=r"lengths is of type torch.float32"):
            layer(torch.ones(2, 2))
    with pytest.raises(ValueError, match=r"hypotheses has shape \(1, 3, 8\) and premises"):
        compare(X, X[:1, :3])


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: LSTM(0, 6), "inputs"),
        (lambda: BiLSTM(8, 0), "hidden"),
        (lambda: BiLSTM(8, 6, layers=0), "layers"),
        (lambda: Transformer(8, 6, heads=0), "heads"),
        (lambda: Transformer(8, 6, layers=0), "layers"),
        (lambda: Transformer(8, 6, heads=2, head_size=0), "head_size"),
        (lambda: Transformer(8, 6, heads=2, feed_forward=0), "feed_forward"),
        (lambda: Transformer(8, 6, heads=2, positions="relative", reach=0), "reach"),
        (lambda: PublishedTransformer(8, heads=0), "heads"),
        (lambda: PublishedTransformer(8, feed_forward=0), "feed_forward"),
        (lambda: MeanFieldEncoder(0, 6), "inputs"),
        (lambda: Biaffine(8, 8, 0), "outputs"),
        (lambda: Biaffine(0, 8, 1), "left"),
        (lambda: DotProductAttention(8, 0, 4), "keys"),
        (lambda: AdditiveAttention(0, 8, 4), "queries"),
        (lambda: MeanFieldAttention(8, 8, 0), "size"),
        (lambda: TreeGCN(8, 0), "hidden"),
        (lambda: ChildSumTreeLSTM(0, 6), "size"),
        (lambda: DecomposableAttention(8, 6, 0), "classes"),
        (lambda: EncoderDecoder(LSTM(8, 6), 8, 0), "hidden"),
        (lambda: SequenceRegressor(0, 8, decoder()), "symbols"),
        (lambda: RecurrentLanguageModel(0, 8), "words"),
        (lambda: RecurrentLanguageModel(9, 8, layers=0), "layers"),
        (lambda: RecurrentLanguageModel(9, 8, window=0), "window"),
        (lambda: CharacterCNN(0, 12), "characters"),
        (lambda: CharacterLSTM(9, 0), "size"),
        (lambda: WordEmbeddings(0, 8), "words"),
        (lambda: CompoundPCFG(2, 3, 9, latent=0), "latent"),
        (lambda: UV(0, 2, Buckets(3), 4), "labels"),
        (lambda: UVW(5, 0, Buckets(3), 4), "channels"),
        (lambda: WeightedUV(5, 2, Buckets(3), 0), "rank"),
        (lambda: FullTernary(0, 2, Buckets(3)), "labels"),
        (lambda: DependencyScorer(0, 3), "size"),
        (lambda: SpanScorer(0, 3), "size"),
        (lambda: TreeScorer(0, 4), "size"),
        (lambda: NeuralPCFG(3, 0, 9), "preterminals"),
        (lambda: JointPerceptron(2, 0, hidden=4), "size_2"),
        (lambda: KneserNey(0, 3), "words"),
        (lambda: KneserNey(3, 0), "order"),
        (lambda: AttentionHash(4, 0), "bits"),
        (lambda: AttentionHash(4, 2, 0), "head_size"),
        (lambda: TreeGCN(8, 6, layers=0), "layers"),
        (lambda: WordEmbeddings(10, 4, affixes=[3, 0]), r"affixes\[1\]"),
        (lambda: WordEmbeddings(10, 4, affixes=[3], affix_size=0), "affix_size"),
        *(
            (lambda kind=kind, sizes=sizes: kind(*sizes), name)
            for kind in (ExponentialFeatures, FourierFeatures, LinearFeatures, SoftplusFeatures)
            for sizes, name in (((4, 0), "features"), ((0, 4), "size"))
        ),
    ],
)
def test_sizes_of_zero_are_refused(make, name):
    with pytest.raises(ValueError, match=f"^{name} is 0; expected at least 1"):
        make()


def test_sizes_are_whole_numbers():
    with pytest.raises(ValueError, match=r"hidden is 2\.5; expected a whole number above 0"):
        BiLSTM(8, 2.5)
