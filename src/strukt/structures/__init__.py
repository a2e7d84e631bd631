"""Structures as ``torch.distributions``: a folder for each structure, and the modules that they share."""
