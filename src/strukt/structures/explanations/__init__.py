"""Explanations, for messages, of events of probability 0: they are not structures, or use a forbidden part.

Most functions take the event of one item as a list, and its ``length``. They return a clause about its first
fault; None if it has none.
"""
