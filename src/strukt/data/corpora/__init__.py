"""Sources of corpora: open corpora to fetch, corpora built from Python itself, and synthetic corpora."""
