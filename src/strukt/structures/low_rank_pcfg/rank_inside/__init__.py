"""The log-probability of sentences under a low-rank PCFG, with a gradient that needs no labels of spans."""
