"""Hidden Markov models: the forward recursion through the factors of a transition matrix."""
