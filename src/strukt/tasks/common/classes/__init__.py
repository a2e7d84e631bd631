"""Classes of sentences: what classification, inference and the reverse dictionary share."""
