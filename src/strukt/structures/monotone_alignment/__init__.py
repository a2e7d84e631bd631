"""Monotone alignments of two sequences (DTW, edit distance, Needleman-Wunsch), diagonal by diagonal of a grid."""
