"""Scikit-learn estimators for chains: sequences of dictionaries in, labels out, as with sklearn-crfsuite."""

from strukt.errors import MissingExtraError

try:
    import sklearn.base  # noqa: F401  # the package itself, not this one: imports are absolute
except ImportError:
    raise MissingExtraError("scikit-learn", "sklearn") from None

from strukt.sklearn.chain_classifier import ChainClassifier

__all__ = ["ChainClassifier"]
