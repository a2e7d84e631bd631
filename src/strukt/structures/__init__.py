"""Structures as ``torch.distributions``: one folder for each, and shared modules beside them."""
