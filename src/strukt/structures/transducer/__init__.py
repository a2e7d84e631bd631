"""Alignments of frames with a target that emit any number of labels at a frame (RNN-T): paths in a lattice."""
