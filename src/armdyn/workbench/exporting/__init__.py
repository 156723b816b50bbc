"""What is seen, taken away: as files, by the tab Export."""
