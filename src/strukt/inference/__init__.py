"""Inference over the oracles of a structure (mode, marginals, log-partition), independent of any class.

Belief propagation and mean field need no oracle: they approximate distributions from their scores. The exact
algorithms that compute oracles are in `strukt.structures`, in the folder of each structure: for example, Viterbi
and the forward algorithm in `linear_chain`, Eisner in `projective_tree`, Chu-Liu/Edmonds and the Matrix-Tree
theorem in `non_projective_tree`, CKY in `span_tree`, inside-outside in `pcfg`.
"""
