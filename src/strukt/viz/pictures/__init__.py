"""Pictures: classes with the data of each, and functions that draw them on each canvas."""
