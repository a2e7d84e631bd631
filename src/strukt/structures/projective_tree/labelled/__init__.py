"""Projective dependency trees with labels on their arcs: Eisner's recursion, which never sees a label."""
