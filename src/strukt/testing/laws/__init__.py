"""The laws, one file for each kind; importing a file registers its laws in `strukt.testing.law.LAWS`."""
