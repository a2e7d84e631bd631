"""LP-SparseMAP and LP-MAP over factor graphs, by the alternating direction method of multipliers (ADMM)."""
