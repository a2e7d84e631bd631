"""Checks of user input: arguments by shape and type, and values from inside operators."""
