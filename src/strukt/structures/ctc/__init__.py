"""Connectionist temporal classification (CTC): labellings of frames that collapse to a target."""
