"""The verb that opens the workbench."""
