"""User-defined structures: table programs whose weights are the parts."""
