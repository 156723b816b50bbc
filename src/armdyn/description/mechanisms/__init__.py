"""What makes a chain a mechanism in a robot file: closures and springs."""
