"""What figures are drawn on: sheets and given panels, colours for dark pages, places for labels."""
