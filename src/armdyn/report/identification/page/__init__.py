"""The sections of a report about a fit, written."""
