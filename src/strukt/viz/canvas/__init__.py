"""Canvases: elements of SVG, cells of a terminal, and the width and colour of texts on them."""
