"""Logs: recorded motions and torques, read, looked over and brought to the joints."""
