"""The checks of scikit-learn for estimators of third parties."""

# ruff: noqa: N803, N806  # scikit-learn calls its inputs X

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="needs scikit-learn: pip install scikit-learn")

from sklearn.base import ClassifierMixin
from sklearn.utils.estimator_checks import (
    parametrize_with_checks,
)
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from strukt.sklearn import ChainClassifier


class RowClassifier(ClassifierMixin, ChainClassifier):
    """Each row of a matrix is a sequence of one vector: most checks have matrices."""

    def fit(self, X, y):
        X, y = self._checked(X, y, reset=True)
        return super().fit(X[:, None], y[:, None])

    def partial_fit(self, X, y, classes=None):
        X, y = self._checked(X, y, reset=not hasattr(self, "classes_"))
        return super().partial_fit(X[:, None], y[:, None], classes)

    def predict(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        return np.concatenate(super().predict(X[:, None]))

    def score(self, X, y):
        return float(np.mean(self.predict(X) == np.asarray(y)))

    def _checked(self, X, y, reset):
        X, y = validate_data(self, X, y, reset=reset)
        check_classification_targets(y)
        return X, np.asarray(y)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = tags.target_tags.one_d_labels = True
        tags.input_tags.three_d_array = tags.input_tags.dict = tags.input_tags.string = False
        return tags


@parametrize_with_checks([RowClassifier(c2=0.01)])
def test_checks_of_rows(estimator, check):
    check(estimator)
