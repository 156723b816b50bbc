"""Exact polynomials as text, LaTeX, Markdown and MathML: no module here knows whole equations."""
