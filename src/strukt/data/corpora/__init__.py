"""Where corpora come from: open ones to fetch, those that are part of Python, and synthetic ones."""
