"""Fitting, resuming and saving models."""
