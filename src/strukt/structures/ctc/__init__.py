"""Labellings of frames that collapse to a target (CTC): the forward recursion over the states of the target."""
