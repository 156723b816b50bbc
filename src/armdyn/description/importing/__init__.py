"""Robots from other programs' files: XML -> a tree of raw links and joints -> RobotModel."""
