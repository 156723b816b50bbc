"""Selection: which filter, friction terms and damping predict data best that were left out."""
