"""The linear-chain conditional random field (CRF) as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from strukt.sklearn import ftrl, online
from strukt.sklearn.features import Features, observed
from strukt.sklearn.likelihood import NegativeLogLikelihood
from strukt.sklearn.model import ChainModel, without_zeros
from strukt.sklearn.owl_qn import Stopping, minimise, print_progress
from strukt.sklearn.settings import require_settings, restored
from strukt.sklearn.tokens import (
    Labelled,
    Rows,
    are_vectors,
    as_sequences,
    attributes,
    distinct,
    numbered,
    vectors,
)


class ChainClassifier(BaseEstimator):  # type: ignore[misc]
    """Linear-chain conditional random field (CRF) for labelling sequences (Lafferty et al. 2001).

    `X` is a list of sequences. A token is a dictionary from names to values as in python-crfsuite (a number or
    bool is the value of the attribute `name`, a string makes the attribute `name:string` of value 1, a list, set
    or dictionary is nested), a list of names, or a vector. A sequence of n vectors of size d is an array `(n, d)`.
    `y` is a list of as many sequences of labels, all strings or all numbers.

    Training minimises, in float64,

        -log p(y | X) + c1 * |w|_1 + c2 * |w|^2

    for the weights w, where -log p is the sum over all sequences: by L-BFGS-B, or by OWL-QN if `c1` is above 0.
    This is the objective of CRFsuite. The parameters have the names of sklearn-crfsuite and the defaults of
    CRFsuite; only `learning_rate` is new.

    Args:
        c1: Weight of the L1 norm; if it is above 0, many weights become 0.
        c2: Weight of the squared L2 norm.
        min_freq: Features whose absolute values sum to less get no weight, except by the next two parameters.
        all_possible_states: Give each attribute a weight for every label, also labels that it never occurs with.
            Attributes of vectors always have all weights.
        all_possible_transitions: Give each pair of labels a weight, also pairs that never occur.
        max_iterations: Maximum number of iterations; no limit if None. See `converged_`.
        epsilon: Training stops when the gradient is smaller: with L-BFGS-B, its largest absolute entry; with
            OWL-QN, its norm divided by the larger of 1 and the norm of the weights.
        period: Number of iterations over which the decrease of the objective is measured.
        delta: Training stops when the relative decrease of the objective over `period` iterations is less.
        learning_rate: The size of the first steps of `partial_fit`.
        verbose: Print the objective after each iteration.

    Attributes:
        classes_: The labels, sorted.
        n_features_in_: The size d of vectors; absent for dictionaries and lists of names.
        n_iter_: Number of iterations of the last `fit`.
        loss_: The objective at the end of the last `fit`.
        converged_: True if the last `fit` ended before `max_iterations`.

    A model that was trained by `partial_fit` alone has no `n_iter_`, `loss_` and `converged_`. If a model has not
    been trained, methods and properties that need one raise `sklearn.exceptions.NotFittedError`.

    It is no `ClassifierMixin`, which expects one label for each sample, so cross-validation does not stratify.

    Examples:
        >>> X = [[{"word": "Anna", "title": True}, {"word": "sings"}], [{"word": "it"}, {"word": "rains"}]]
        >>> y = [["name", "other"], ["other", "other"]]
        >>> model = ChainClassifier(c2=0.01).fit(X, y)
        >>> model.predict([[{"word": "Otto", "title": True}, {"word": "met"}, {"word": "her"}]])
        [['name', 'other', 'other']]
        >>> model.score(X, y)
        1.0
    """

    def __init__(
        self,
        *,
        c1: float = 0.0,
        c2: float = 1.0,
        min_freq: float = 0.0,
        all_possible_states: bool = False,
        all_possible_transitions: bool = False,
        max_iterations: int | None = None,
        epsilon: float = 1e-5,
        period: int = 10,
        delta: float = 1e-5,
        learning_rate: float = 0.5,
        verbose: bool = False,
    ) -> None:
        self.c1 = c1
        self.c2 = c2
        self.min_freq = min_freq
        self.all_possible_states = all_possible_states
        self.all_possible_transitions = all_possible_transitions
        self.max_iterations = max_iterations
        self.epsilon = epsilon
        self.period = period
        self.delta = delta
        self.learning_rate = learning_rate
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> ChainClassifier:  # noqa: N803
        """Fit the model to labelled sequences, from scratch, and return it.

        Args:
            X: A list of sequences of dictionaries, lists of names, or vectors.
            y: The label of each token: a list of labels for each sequence.

        Raises:
            ValueError: If X and y do not match, if X has no tokens, if a parameter is out of range, or if labels
                are NaN, or not all strings or all numbers.

        Complexity: Time O(m + n c^2) for each evaluation of the objective, usually one per iteration, for n tokens
        with m weights in total and c labels. Memory O(m + weights).
        """
        require_settings(self)
        sequences = as_sequences("X", X)
        columns: dict[str, int] | None = None if are_vectors(sequences) else {}
        rows = vectors(sequences, None) if columns is None else attributes(sequences, columns, grow=True)
        classes, labels = numbered(y, rows.lengths, None)
        if not len(labels):
            raise ValueError("X has no tokens; expected 1 or more to learn from")
        data = Labelled(*rows, labels)
        features = self._features(data, len(classes))
        objective = NegativeLogLikelihood(data._replace(tokens=without_zeros(rows.tokens)), features, self.c2)
        stopping = Stopping(self.max_iterations, self.epsilon, self.period, self.delta)
        report = print_progress if self.verbose else None
        minimum = minimise(objective, np.zeros(len(features.used)), self.c1, stopping, report)
        self.n_iter_, self.loss_, self.converged_ = minimum.iterations, minimum.value, minimum.converged
        # For the step sizes of `partial_fit`, each occurrence of a feature counts as a squared gradient of 1.
        seen = np.abs(objective.observed)
        stream = ftrl.begin(minimum.point, seen, self.c1, self.c2, self.learning_rate)
        self._take(ChainModel(classes, columns, features, minimum.point, stream).pruned())
        return self

    def partial_fit(self, X: Any, y: Any, classes: Sequence[Any] | None = None) -> ChainClassifier:  # noqa: N803
        """Update the model with more labelled sequences, in one pass over them, and return it.

        Weights are updated after every 8 sequences by FTRL-Proximal (McMahan et al. 2013), towards the minimum of
        the same objective over all sequences seen so far, including those of `fit`. New attributes get weights.

        Args:
            X: A list of sequences of dictionaries, lists of names, or vectors.
            y: The label of each token: a list of labels for each sequence.
            classes: All possible labels; required in the first call if `y` lacks some of them. None for those of
                `fit` or of the first call, or, in the first call, for those in `y`.

        Raises:
            ValueError: If X and y do not match, if a parameter is out of range, if a label is NaN or not one of
                the classes, if there are no classes, if they are not all strings or all numbers, or if they differ
                from those of the first call.

        Complexity: Time O(m + n c^2 + s w) for s sequences and w weights of the model; m, n and c as in `fit`.
        """
        require_settings(self)
        model: ChainModel | None = getattr(self, "_model", None)
        known = None if classes is None else distinct("classes", classes)
        if model is not None and known not in (None, model.classes):
            raise ValueError(f"classes is {known}; expected those of the first call, {model.classes}")
        sequences = as_sequences("X", X)
        columns: dict[str, int] | None = None
        if model is None and not are_vectors(sequences):
            columns = {}
        elif model is not None and model.columns is not None:
            columns = dict(model.columns)
        size = getattr(self, "n_features_in_", None)
        rows = vectors(sequences, size) if columns is None else attributes(sequences, columns, grow=True)
        names, labels = numbered(y, rows.lengths, model.classes if model else known)
        if not names:
            raise ValueError("there are no labels; expected all possible ones in classes")
        data = Labelled(*rows, labels)
        features = self._features(data, len(names))
        model = online.extended(model, features, columns) if model else online.begun(names, columns, features)
        data = data._replace(tokens=without_zeros(rows.tokens))
        self._take(online.learned(model, data, self.c1, self.c2, self.learning_rate))
        return self

    def predict(self, X: Any) -> list[list[Any]]:  # noqa: N803
        """Return the best labels of each sequence (Viterbi 1967); attributes without a weight are ignored.

        Raises:
            ValueError: If X is not a list of sequences as in `fit`.

        Complexity: Time O(m + n c^2) for n tokens with m weights in total and c labels.
        """
        rows, classes = self._rows(X), self._model.classes
        return [[classes[number] for number in tags.tolist()] for tags in self._model.results(rows, "mode")]

    def predict_single(self, xseq: Any) -> list[Any]:
        """Return the best labels of one sequence, `xseq`, as a list; errors are those of `predict`."""
        return self.predict([xseq])[0]

    def predict_marginals(self, X: Any) -> list[list[dict[Any, float]]]:  # noqa: N803
        """Return the probability of each label, as a dictionary for each token; complexity: see `predict`.

        Raises:
            ValueError: If X is not a list of sequences as in `fit`.
        """
        rows, classes = self._rows(X), self._model.classes
        return [
            [dict(zip(classes, token, strict=True)) for token in marginals.tolist()]
            for marginals in self._model.results(rows, "marginals")
        ]

    def predict_marginals_single(self, xseq: Any) -> list[dict[Any, float]]:
        """Return the probability of each label for each token of the sequence `xseq`; errors: see `predict`."""
        return self.predict_marginals([xseq])[0]

    def score(self, X: Any, y: Any) -> float:  # noqa: N803
        """Return the token accuracy: the share of tokens with the right label.

        Raises:
            ValueError: If X and y do not match, or if X has no tokens.
        """
        predicted = self.predict(X)
        labels = as_sequences("y", y)
        numbered(labels, np.array([len(one) for one in predicted], np.int64), None)
        right = [
            a == b for one, two in zip(predicted, labels, strict=True) for a, b in zip(one, two, strict=True)
        ]
        if not right:
            raise ValueError("X has no tokens; expected 1 or more to score")
        return float(np.mean(right))

    @property
    def attributes_(self) -> list[str]:
        """The names of the attributes that have a weight; `x0`, `x1`, ... for vectors."""
        check_is_fitted(self)
        return self._model.names

    @property
    def state_features_(self) -> dict[tuple[str, Any], float]:
        """The weight of each attribute with each label, `{(attribute, label): weight}`, without zeros."""
        check_is_fitted(self)
        return dict(self._model.state_features())

    @property
    def transition_features_(self) -> dict[tuple[Any, Any], float]:
        """The weight of each transition between labels, `{(from, to): weight}`, without zeros."""
        check_is_fitted(self)
        return dict(self._model.transition_features())

    def save(self, folder: str | PathLike[str]) -> None:
        """Save the model to a folder, created if missing, as `model.json` and `weights.safetensors`, never pickle.

        Raises:
            strukt.errors.DataError: If a file cannot be written.
        """
        check_is_fitted(self)
        names = ("n_iter_", "loss_", "converged_")
        results = {name: getattr(self, name) for name in names if hasattr(self, name)}
        self._model.save(folder, {"parameters": self.get_params(), "results": results})

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> ChainClassifier:
        """Load a model that `save` wrote to `folder`.

        Raises:
            strukt.errors.DataError: If a file is missing or damaged.
        """
        model, content = ChainModel.load(folder)
        loaded: ChainClassifier = restored(cls, content, folder)
        loaded._take(model)
        return loaded

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags of an estimator of sequences, not of a matrix of samples."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = tags.input_tags.dict = tags.input_tags.string = True
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = False
        return tags

    def _features(self, data: Labelled, count: int) -> Features:
        return observed(data, count, self.min_freq, self.all_possible_states, self.all_possible_transitions)

    def _take(self, model: ChainModel) -> None:
        self._model = model
        self.classes_ = np.array(model.classes)
        if model.columns is None:
            self.n_features_in_ = len(model.features.starts) - 1
        elif hasattr(self, "n_features_in_"):
            del self.n_features_in_

    def _rows(self, X: Any) -> Rows:  # noqa: N803
        check_is_fitted(self)
        sequences = as_sequences("X", X)
        if self._model.columns is None:
            return vectors(sequences, self.n_features_in_)
        return attributes(sequences, self._model.columns, grow=False)
