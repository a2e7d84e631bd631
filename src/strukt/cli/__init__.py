"""The command line: the launcher, and a module for each command."""
