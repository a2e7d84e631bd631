"""strukt beside the other libraries for structured inference: correctness, speed and memory."""
