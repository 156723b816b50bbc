"""What a robot's model tells about a state: parts of torques, operational space, manipulability, rotors."""
