"""Linear chains whose gradient keeps the forward states of some positions only, and computes the others again."""
