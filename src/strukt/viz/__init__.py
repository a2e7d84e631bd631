"""Pictures of structures: in the terminal, as SVG, as a page."""
