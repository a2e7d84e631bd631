"""Times of structures on a GPU: strukt, and the peers that can be imported."""
