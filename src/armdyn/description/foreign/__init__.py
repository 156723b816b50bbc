"""Reads files of other programs, URDF and MJCF: XML, a tree of raw links and joints, and its RobotModel."""
