"""Non-projective dependency trees: sums by the Matrix-Tree theorem, best trees by Chu-Liu/Edmonds."""
