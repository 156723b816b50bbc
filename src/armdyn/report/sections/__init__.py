"""The sections of a report about a robot. Each file finds what its section says, draws it and writes it."""
