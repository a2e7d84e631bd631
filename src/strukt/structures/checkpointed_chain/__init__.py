"""Linear chains with gradient checkpointing: some forward states are stored, the others are recomputed."""
