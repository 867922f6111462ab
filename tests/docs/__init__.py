"""The documentation: its examples run, its links resolve, and it names everything there is."""
