"""The command line: a launcher, and one module per command."""
