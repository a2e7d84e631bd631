"""Pictures: what each shows, and how it is drawn on each canvas."""
