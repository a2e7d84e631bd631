"""Low-rank PCFGs: the inside algorithm over spans with a rank in place of a label."""
