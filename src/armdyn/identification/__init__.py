"""Parameters from data: logs, excitation, estimates and what they are worth."""
