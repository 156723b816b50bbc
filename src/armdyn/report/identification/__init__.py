"""The report about a fit: what is said, as data, and `page/`, which writes it."""
