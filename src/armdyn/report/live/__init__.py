"""The part of a report that moves: the arm, its torques and a motion, computed by the page itself."""
