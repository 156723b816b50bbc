"""What stands beside the arm. Each module adds one panel: `add(bench)` makes its fields and listens."""
