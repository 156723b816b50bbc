"""The server of the page: viser's, with a gate in front of it."""
