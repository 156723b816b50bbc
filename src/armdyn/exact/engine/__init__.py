"""The exact algebra: rings, closed form, proof."""
