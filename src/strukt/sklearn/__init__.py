"""A scikit-learn estimator for chains: it maps sequences of dictionaries to labels, like sklearn-crfsuite."""

from strukt.errors import MissingExtraError

try:
    import sklearn.base  # noqa: F401  # scikit-learn, not this package: imports are absolute
except ImportError:
    raise MissingExtraError("scikit-learn", "sklearn") from None

from strukt.sklearn.chain_classifier import ChainClassifier

__all__ = ["ChainClassifier"]
