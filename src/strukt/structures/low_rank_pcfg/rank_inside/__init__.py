"""The log-probability of sentences under a grammar of low rank, with a gradient that no label of a span enters."""
