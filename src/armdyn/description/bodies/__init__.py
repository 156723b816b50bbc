"""Bodies and poses of a robot file: mass, com and inertia by numbers or by a mesh; xyz and rpy."""
