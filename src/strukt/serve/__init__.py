"""A service for saved models: a web page to try them, and a JSON API for programs."""
