"""Explanations of events of probability 0: not a structure, or with a forbidden part. Plain Python
over one item.
"""
