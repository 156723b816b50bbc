"""Exact equations as text, LaTeX, Markdown and MathML."""
