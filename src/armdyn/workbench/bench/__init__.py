"""What the workbench knows: the robot as it is edited, its state, the motion, and who must be told."""
