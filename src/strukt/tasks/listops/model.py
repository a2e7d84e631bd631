"""The model of ListOps: a graph convolution over a given or latent tree of an expression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from typing_extensions import override

from strukt.data import listops
from strukt.data.listops.expressions import DIGITS, SYMBOLS
from strukt.data.sentence import Sentence
from strukt.data.vocabulary import Vocabulary
from strukt.distributions import NonProjectiveTree
from strukt.errors import DataError, SettingError
from strukt.metrics.classes import MacroF1
from strukt.nn import LatentStructure, Mixture, TreeGCN
from strukt.nn.estimators import ESTIMATORS, Estimator, Marginals, SparseMAP
from strukt.nn.latent_trees import FIXED, FixedTrees, TreeScorer, with_budget
from strukt.tasks.common.batch import Batch
from strukt.tasks.common.encoder.base import Encoder
from strukt.tasks.common.mean_loss import Average
from strukt.tasks.common.prediction import diagrams_of_heads
from strukt.tasks.common.sentences import trainable_sentences
from strukt.tasks.common.structured_model import StructuredModel, counts_of, few_of
from strukt.tasks.common.symbols import NUMBER, Forms
from strukt.tasks.listops.config import Config
from strukt.tasks.listops.prediction import ListPrediction, expression_of
from strukt.viz import Diagram


class ListModel(StructuredModel):
    r"""A model that predicts the arity of each operator of an expression, or its value, from trees of symbols.

    Source: Corro and Titov (2019), "Learning latent trees with stochastic perturbations and differentiable dynamic
    programming"; Niculae and Martins (2020), "LP-SparseMAP: Differentiable relaxed optimization for sparse
    structured prediction", section 5.1.

    Args:
        config: The configuration of the task.
        vocabularies: The vocabularies of the encoder, and the arities or values as `labels`.
        encoder: The encoder of the words.

    Examples:
        >>> from strukt.tasks.listops import Config
        >>> import io
        >>> from strukt.data import listops
        >>> [sentence] = listops.read(io.BytesIO(b"9\t[MAX 2 9 [MIN 4 7 ] 0 ]\n"))
        >>> model = ListModel.from_corpus(Config(), [sentence])
        >>> model.vocabularies["labels"].symbols, model.distribution([sentence]).mode.shape
        (('2', '4'), torch.Size([1, 9]))
        >>> [annotated] = model.predict([sentence])
        >>> len(annotated.arities)  # of the two operators
        2
    """

    task: ClassVar[str] = "listops"
    outputs: ClassVar[Forms] = {"labels": NUMBER}
    config: Config
    few_hint: ClassVar[str] = (
        "models trained with --structure tree have one, unless --estimator is marginals or relaxed"
    )

    def __init__(self, config: Config, vocabularies: dict[str, Vocabulary], encoder: Encoder) -> None:
        super().__init__(config, vocabularies, encoder)
        self.encoder.requires_grad_(self.is_latent)  # only latent trees use the encoder
        self.symbols = nn.Embedding(len(SYMBOLS) if config.reads == "words" else 1, config.size)
        self.network = TreeGCN(config.size, config.size, config.layers)
        self.score = nn.Linear(config.size, len(vocabularies["labels"]))
        self.scorer = TreeScorer(self.encoder.size, config.arc_size) if self.is_latent else None
        self.latent = LatentStructure(self._label_log_probs, self._trees, _estimator(config))

    @classmethod
    @override
    def trainable(cls, config: Config, sentences: Sequence[Sentence]) -> Sequence[Sentence]:
        """Return the expressions of at most `longest` symbols; a warning counts the others.

        Raises:
            DataError: If a sentence is not an expression, or its value is the target, and is missing or wrong.
        """
        if config.target == "value":
            for sentence in sentences:
                _require_right_value(sentence)
        return trainable_sentences(
            sentences,
            [len(expression_of(sentence)) <= config.longest for sentence in sentences],
            f"expressions have more than {config.longest} symbols (--longest)",
        )

    @classmethod
    @override
    def labels_of(cls, config: Config, sentences: Sequence[Sentence]) -> dict[str, Vocabulary]:
        """Return the vocabulary `labels`: all digits for values, or the arities in the training corpus.

        Raises:
            DataError: If arities are predicted, and the corpus has fewer than two different ones.
        """
        if config.target == "value":
            return {"labels": Vocabulary(DIGITS)}
        arities = {arity for sentence in sentences for arity in expression_of(sentence).arities}
        if len(arities) < 2:
            present = ", ".join(map(str, arities)) or "none"
            raise DataError(f"expected operators of at least two arities, found {present}", config.train)
        return {"labels": Vocabulary(map(str, sorted(arities)))}

    @property
    @override
    def mean_over(self) -> Average:
        return "sentences" if self.config.target == "value" else "words"

    @property
    @override
    def selection(self) -> str:
        return "accuracy"

    @property
    def is_latent(self) -> bool:
        """True if the trees are latent."""
        return self.config.structure in ("tree", "tree-budget")

    @property
    @override
    def few(self) -> Estimator | None:
        return few_of(self.latent.estimator)

    @override
    def targets(self, sentence: Sentence) -> dict[str, Tensor]:
        """Return `labels`: ``(n,)``, arities at operators and -1 elsewhere; or ``(1,)``, the value."""
        observed = torch.tensor(self.vocabularies["labels"].indices(self.observed(sentence)), dtype=torch.long)
        if self.config.target == "value":
            return {"labels": observed}
        labels = torch.full((len(sentence),), -1)
        labels[expression_of(sentence).operators] = observed
        return {"labels": labels}

    @override
    def loss(self, batch: Batch) -> Tensor:
        """Return the mean negative log-likelihood of a label, or an upper bound if trees are sampled."""
        labels, mixture = batch.targets["labels"], self._mixture(batch)
        of_pairs = labels[mixture.items].clamp(min=0).unsqueeze(-1)
        log_probs = mixture.log_likelihood(mixture.outputs.gather(-1, of_pairs).squeeze(-1))
        known = labels >= 0
        return -log_probs[known].sum() / known.sum().clamp(min=1)

    @override
    def distribution_of(self, batch: Batch) -> NonProjectiveTree:
        """Return the distribution over latent trees, without the limit on dependents that `config.budget` sets.

        Raises:
            SettingError: If the model has no latent trees.
        """
        if self.scorer is None:
            raise SettingError("the model has no latent trees; train with --structure tree")
        trees: NonProjectiveTree = self.scorer(self.encoder(batch.inputs, batch.lengths), batch.lengths)
        return trees

    @override
    def predict_batch(self, batch: Batch, probabilities: bool = False) -> list[ListPrediction]:
        """Return the most probable labels.

        If the trees are latent, predictions also have `shares`, from which evaluation computes further scores:
        `UAS`, the percentage of the gold tree's arcs that are in the tree with the largest sum of arc
        probabilities; `heads`, the mean number of a symbol's heads with positive probability; and `structures`,
        the mean number of trees that the estimator selects, unless it uses the marginals of all.
        """
        mixture = self._mixture(batch)
        certain, labels = mixture.log_likelihood(mixture.outputs).exp().max(-1)
        arcs = mixture.expected(mixture.parts)
        heads = NonProjectiveTree(arcs, batch.lengths).mode if self.is_latent else arcs.argmax(-1)
        drawn = arcs.gather(-1, heads.clamp(min=0).unsqueeze(-1)).squeeze(-1)
        shares = self._shares(batch, mixture, arcs, heads) if self.is_latent else [{}] * len(batch.sentences)
        symbols, predictions = self.vocabularies["labels"].symbols, []
        for row, sentence in enumerate(batch.sentences):
            n = 0 if self.config.structure == "none" else len(sentence)
            places = [0] if self.config.target == "value" else expression_of(sentence).operators
            predictions.append(
                ListPrediction(
                    self.config.target,
                    [symbols[label] for label in labels[row, places].tolist()],
                    certain[row, places],
                    heads[row, :n].tolist(),
                    drawn[row, :n].tolist(),
                    probabilities,
                    shares[row],
                )
            )
        return predictions

    @override
    def given(self, sentence: Sentence) -> list[Tensor]:
        """Return the heads in the tree of the brackets, ``(n,)``, as the only structure."""
        return [torch.tensor(expression_of(sentence).heads)]

    @override
    def drawn(self, batch: Batch, events: Tensor) -> list[Diagram]:
        """Draw the symbols of each expression with arcs from their heads."""
        return diagrams_of_heads(batch.sentences, events)

    @override
    def metric(self) -> MacroF1:
        """Return the metric: accuracy and macro-averaged F1 of labels."""
        return MacroF1()

    @override
    def observed(self, sentence: Sentence) -> list[str]:
        """Return the arities of the operators, or the value, as text."""
        if self.config.target == "value":
            return [_value(sentence)]
        return [str(arity) for arity in expression_of(sentence).arities]

    @override
    def require_annotated(self, sentence: Sentence) -> None:
        """Raise a DataError if the target is the value, and the value of the expression is missing or wrong."""
        super().require_annotated(sentence)
        if self.config.target == "value":
            _require_right_value(sentence)

    @override
    def require_usable(self, sentence: Sentence) -> None:
        """Raise a DataError if the sentence is not an expression."""
        expression_of(sentence)

    def _mixture(self, batch: Batch) -> Mixture:
        """Return log-probabilities of labels `(pairs, n or 1, labels)`, for pairs of an expression and a tree."""
        if self.config.reads == "words":
            places = [torch.tensor([SYMBOLS.index(form) for form in s.forms]) for s in batch.sentences]
            symbols = pad_sequence(places, batch_first=True).to(self.device)
        else:
            symbols = torch.zeros(
                len(batch.sentences), int(batch.lengths.max()), dtype=torch.long, device=self.device
            )
        projected = self.network.project(self.symbols(symbols), batch.lengths)
        mixture: Mixture = self.latent(projected, batch.lengths, batch)
        return mixture

    def _trees(self, projected: Tensor, lengths: Tensor, batch: Batch) -> Any:
        """Return the distribution over latent trees, or the fixed trees."""
        structure, n, device = self.config.structure, projected.shape[1] - 1, projected.device
        if structure == "tree":
            return self.distribution_of(batch)
        if structure == "tree-budget":
            return with_budget(
                self.distribution_of(batch), self.config.budget, self.config.iterations or None
            )
        if structure == "none":
            return FixedTrees(torch.zeros(len(lengths), n, n + 1, device=device))
        if structure == "gold":
            heads = [torch.tensor(expression_of(sentence).heads) for sentence in batch.sentences]
            return FixedTrees.of_heads(pad_sequence(heads, True, -1).to(device))
        return FixedTrees.of_heads(FIXED[structure](lengths, n))

    def _label_log_probs(self, arcs: Tensor, projected: Tensor, lengths: Tensor, _: Batch) -> Tensor:
        """Return log-probabilities of labels for each symbol; for values, for the sum of the root's dependents."""
        states = self.network.read(projected, arcs, lengths)
        if self.config.target == "value":
            states = (arcs[..., :1] * states).sum(1, keepdim=True)
        log_probs: Tensor = self.score(states).float().log_softmax(-1)
        return log_probs

    def _shares(
        self, batch: Batch, mixture: Mixture, arcs: Tensor, heads: Tensor
    ) -> list[dict[str, tuple[float, float]]]:
        """Return each expression's shares of the additional scores; see `Prediction.shares`."""
        links, counts = (arcs > 0).sum((-1, -2)).tolist(), counts_of(mixture, self.latent.estimator)
        shares = []
        for row, sentence in enumerate(batch.sentences):
            n, gold = len(sentence), expression_of(sentence).heads
            right = sum(a == b for a, b in zip(heads[row, :n].tolist(), gold, strict=True))
            terms: dict[str, tuple[float, float]] = {"UAS": (100 * right, n), "heads": (links[row], n)}
            shares.append(terms | ({"structures": (counts[row], 1)} if counts else {}))
        return shares


def _estimator(config: Config) -> Estimator:
    if config.structure != "tree":
        return Marginals()
    estimator = ESTIMATORS[config.estimator]
    if isinstance(estimator, SparseMAP):
        return replace(estimator, max_iterations=config.iterations or None)
    return estimator


def _require_right_value(sentence: Sentence) -> None:
    expression = expression_of(sentence)
    if _value(sentence) != str(expression.expression.value):
        raise listops.wrong(expression).error()


def _value(sentence: Sentence) -> str:
    value = expression_of(sentence).label
    if value is None:
        raise listops.missing(expression_of(sentence)).error()
    return value
