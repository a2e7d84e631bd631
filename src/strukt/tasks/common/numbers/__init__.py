"""Lines of numbers: what sorting and counting share."""
