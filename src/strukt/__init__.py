"""Structured inference as differentiable PyTorch layers."""
