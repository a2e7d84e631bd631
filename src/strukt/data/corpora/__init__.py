"""Sources of corpora: open ones to fetch, those built from Python itself, and synthetic ones."""
