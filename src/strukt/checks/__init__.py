"""Checks of what users give: arguments by their shapes and types, values from inside operators."""
