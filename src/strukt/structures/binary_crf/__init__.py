"""Fully connected binary variables: enumeration of all states."""
