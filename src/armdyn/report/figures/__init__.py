"""Pictures of robots and their motions."""
