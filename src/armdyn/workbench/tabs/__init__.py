"""The tabs and panels of the page. Each module adds one: `add(bench)` makes its fields and listens."""
