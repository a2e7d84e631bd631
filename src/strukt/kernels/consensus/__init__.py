"""LP-SparseMAP over factor graphs: solutions of factors, their agreement, and the faces that they share."""
