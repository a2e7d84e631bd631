"""Semi-Markov chains: labelled segmentations, by the forward algorithm over the ends of segments."""
