"""The model of natural language inference, which compares two sentences along an alignment or by their trees."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import ClassVar

from torch import Tensor
from torch.nn import functional
from typing_extensions import override

from strukt.data import conllu
from strukt.data.batching import padded_size
from strukt.data.classes.pairs import Pair
from strukt.data.conllu.tree_pairs import TreePair
from strukt.data.sentence import Sentence
from strukt.data.vocabulary import Vocabulary
from strukt.nn.decomposable_attention import Comparison, DecomposableAttention
from strukt.nn.structured_attention import StructuredAttention
from strukt.tasks.common.batch import Batch
from strukt.tasks.common.classes.model import TREES_OPTION, ClassModel
from strukt.tasks.common.classes.prediction import ClassPrediction
from strukt.tasks.common.classes.tree_reader import TreeReader
from strukt.tasks.common.encoder.base import Encoder
from strukt.tasks.common.sentences import require_format
from strukt.tasks.common.structured_model import counts_of
from strukt.tasks.nli.config import Config
from strukt.tasks.nli.prediction import EntailmentPrediction, pair_of
from strukt.tasks.nli.tree_comparison import TreeComparison
from strukt.viz import Diagram


class EntailmentModel(ClassModel):
    r"""A model that predicts whether a premise entails a hypothesis.

    Words are compared by `DecomposableAttention`. With latent trees, vectors of whole sentences are compared, and
    the probability of a class is a mean over the trees of both sentences.

    Args:
        config: The configuration of the task.
        vocabularies: The vocabularies of the encoder, and the classes as `labels`.
        encoder: The encoder of the words.

    Examples:
        >>> from strukt.tasks.nli import Config
        >>> import io
        >>> from strukt.data.classes import pairs
        >>> lines = b"A man sleeps.\tHe rests.\tentailment\nA man sleeps.\tHe runs.\tcontradiction\n"
        >>> corpus = [*pairs.read(io.BytesIO(lines))]
        >>> model = EntailmentModel.from_corpus(Config(), corpus)
        >>> [pair] = model.predict("A man sleeps.\tHe rests.")
        >>> pair.label in ("entailment", "contradiction"), list(model.measure(corpus).scores)
        (True, ['accuracy', 'links'])
    """

    task: ClassVar[str] = "nli"
    config: Config

    def __init__(self, config: Config, vocabularies: dict[str, Vocabulary], encoder: Encoder) -> None:
        super().__init__(config, vocabularies, encoder)
        size, classes, dropout = config.size, len(vocabularies["labels"]), config.encoder.outer_dropout
        if config.model == "latent-tree":
            self.tree_reader = TreeReader(self.encoder.size, config.latent)
            self.compare_trees = TreeComparison(self.tree_reader.size, size, classes, dropout)
        else:
            self.tree_reader = None
            attention = StructuredAttention(config.attention, config.iterations or None)
            self.compare = DecomposableAttention(
                self.encoder.size, size, classes, attention, dropout, config.scaled_scores
            )

    @staticmethod
    @override
    def heads_of_parts(sentence: Sentence, option: str = TREES_OPTION) -> tuple[list[int], list[int]]:
        message = (
            f"{option} reads the trees of CoNLL-U files, in which a premise and its hypothesis follow each other; "
            "give a file such as FILE.conllu"
        )
        return require_format(sentence, TreePair, message).heads

    @override
    def encoded_forms(self, sentences: Sequence[Sentence]) -> list[list[str]]:
        """Return the words of all premises, followed by those of all hypotheses.

        If no item is a pair, the items are read as single sentences, to draw their trees.
        """
        if not any(isinstance(sentence, Pair) for sentence in sentences):
            return super().encoded_forms(sentences)
        pairs = [pair_of(sentence) for sentence in sentences]
        return [pair.premise for pair in pairs] + [pair.hypothesis for pair in pairs]

    @override
    def sizes(self, sentences: Sequence[Sentence]) -> list[int]:
        """Return the size of each pair: twice the size of its longer sentence."""
        parts = [[s.premise, s.hypothesis] if isinstance(s, Pair) else [s.forms] for s in sentences]
        counts = iter(self.encoder.sizes([forms for each in parts for forms in each]))
        return [padded_size(list(islice(counts, len(each)))) for each in parts]

    @override
    def loss(self, batch: Batch) -> Tensor:
        """Return the mean negative log-likelihood of the class, or an upper bound if trees are sampled."""
        if self.tree_reader is None:
            log_probs, _ = self._aligned(batch)
        else:
            log_probs = self.compare_trees(self._of_trees(self.tree_reader, batch))
        return functional.nll_loss(log_probs, batch.targets["label"].squeeze(1))

    @override
    def predict_batch(self, batch: Batch, probabilities: bool = False) -> Sequence[ClassPrediction]:
        """Return the most probable classes.

        They have an additional score: `links`, the mean number of positive alignment weights per word, or `trees`,
        the mean number of trees read per sentence, if the model reads few.
        """
        if self.tree_reader is not None:
            return self._predicted_by_trees(self.tree_reader, batch, probabilities)
        log_probs, weights = self._aligned(batch)
        predictions = []
        for row, (likely, (n, m)) in enumerate(
            zip(self.named(log_probs), _sizes(batch).tolist(), strict=True)
        ):
            aligned = weights[row, :n, :m]
            shares = {"links": (float((aligned > 0).sum()), float(n + m))}
            predictions.append(EntailmentPrediction(likely, probabilities, shares, aligned.tolist()))
        return predictions

    @override
    def parts(self, sentence: Sentence) -> list[Sentence]:
        """Return the premise and the hypothesis."""
        pair = pair_of(sentence)
        return [conllu.from_forms(pair.premise), conllu.from_forms(pair.hypothesis)]

    @override
    def require_usable(self, sentence: Sentence) -> None:
        """Raise a DataError if the sentence is not a pair, or has no trees and the model reads given trees."""
        pair_of(sentence)
        super().require_usable(sentence)

    @override
    def channels(self, sentence: Sentence) -> list[Diagram]:
        """Draw the heads of the premise's words in each channel, then those of the hypothesis's words.

        Return no pictures if the encoder is not a Probabilistic Transformer.

        Raises:
            DataError: If the sentence is not a pair.
        """
        return [
            diagram
            for part in self.parts(sentence)
            for diagram in super(EntailmentModel, self).channels(part)
        ]

    def _aligned(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return log-probabilities of classes, ``(batch, classes)``, and alignment weights, ``(batch, n, m)``."""
        premises, hypotheses = self.encoder(batch.inputs, batch.lengths).chunk(2)
        sizes = _sizes(batch)
        n, m = sizes.amax(0).tolist()
        comparison: Comparison = self.compare(premises[:, :n], hypotheses[:, :m], sizes)
        return comparison.scores.float().log_softmax(-1), comparison.alignment.weights

    def _predicted_by_trees(
        self, reader: TreeReader, batch: Batch, probabilities: bool
    ) -> list[ClassPrediction]:
        trees = self._of_trees(reader, batch)
        rows, counts = self.named(self.compare_trees(trees)), counts_of(trees, reader.estimator)
        both = zip(counts[: len(rows)], counts[len(rows) :], strict=True)
        shares = [{"trees": (float(a + b), 2.0)} for a, b in both] or [{}] * len(rows)
        return [ClassPrediction(row, probabilities, share) for row, share in zip(rows, shares, strict=True)]


def _sizes(batch: Batch) -> Tensor:
    """Return the numbers of words of premises and hypotheses, ``(batch, 2)``."""
    return batch.lengths.reshape(2, -1).T
