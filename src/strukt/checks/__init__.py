"""Checks of user input: shapes, types and devices of arguments, and values, even under ``torch.func``."""
