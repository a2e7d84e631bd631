"""The laws, one file for each kind; importing a file enters its laws into `strukt.testing.law.LAWS`."""
