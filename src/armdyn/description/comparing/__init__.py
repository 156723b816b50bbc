"""What differs between two robots."""
