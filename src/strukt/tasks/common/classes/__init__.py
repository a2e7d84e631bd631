"""Classes of sentences: the common parts of classification, inference and the reverse dictionary."""
