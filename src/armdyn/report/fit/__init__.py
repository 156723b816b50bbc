"""The report about a fit: its subject, its sections and their figures."""
