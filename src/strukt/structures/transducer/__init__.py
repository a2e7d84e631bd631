"""Alignments of frames and labels that emit any number of labels at a frame (RNN-T): the recursion over a lattice."""
