"""Hidden Markov models: the forward algorithm through the factors of the transition matrix."""
