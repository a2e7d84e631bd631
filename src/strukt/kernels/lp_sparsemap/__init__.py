"""LP-SparseMAP over factor graphs by ADMM: projections of factors, their agreement, and shared faces."""
