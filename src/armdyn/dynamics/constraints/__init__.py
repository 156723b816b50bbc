"""What ties the motion of joints: loops, and surfaces that stick."""
