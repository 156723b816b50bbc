"""External torques and collisions from momentum: the observer, in Python and in C."""
