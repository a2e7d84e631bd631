"""Non-projective dependency trees: Matrix-Tree theorem for sums, Chu-Liu/Edmonds for best trees."""
