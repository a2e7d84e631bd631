"""Emissions of hidden Markov models: a distribution of observations for each state."""
