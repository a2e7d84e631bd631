"""Non-projective dependency trees: the Matrix-Tree theorem for sums, Chu-Liu/Edmonds for best trees."""
