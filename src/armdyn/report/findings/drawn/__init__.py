"""What is drawn of an arm, and from where it is seen."""
