"""What a report tells, as data."""
