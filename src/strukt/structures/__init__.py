"""Structures as ``torch.distributions``: a folder for each, and beside them what several share."""
