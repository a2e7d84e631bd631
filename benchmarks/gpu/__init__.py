"""Times of structures on a GPU, of strukt and of the peers that can be imported."""
