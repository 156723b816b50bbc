"""Programs and loops as plain JavaScript functions over arrays of numbers: what a page computes by itself."""
