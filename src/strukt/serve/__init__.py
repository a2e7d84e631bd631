"""Saved models as a service: one page to try them, and JSON for programs."""
