"""strukt beside the other libraries for structured inference: who is right, how fast, in how much memory."""
