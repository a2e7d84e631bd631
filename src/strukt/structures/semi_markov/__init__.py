"""Semi-Markov conditional random fields: distributions over labelled segmentations."""
