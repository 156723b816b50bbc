"""What a motion asks of the motors."""
