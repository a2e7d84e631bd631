"""Matchings: sums by a recursion over sets of rows, maxima by the assignment problem (Hungarian algorithm)."""
