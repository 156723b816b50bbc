"""Model -> text: the robot file (and what else robots are written as)."""
