"""Why an event has probability 0: it is no structure, or it uses a forbidden part. Plain Python over one item."""
