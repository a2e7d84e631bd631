"""Lines of numbers: the common parts of sorting and counting."""
