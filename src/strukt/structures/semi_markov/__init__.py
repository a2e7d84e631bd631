"""Segmentations with labels: the forward recursion over the ends of segments."""
