"""Transducers (RNN-T): alignments of frames with a target, any number of labels a frame, as paths in a lattice."""
