"""Projective trees with scores of neighbouring siblings."""
