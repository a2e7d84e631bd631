"""Determinantal point processes of fixed size: k-DPPs."""
