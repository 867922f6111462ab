"""Completion for shells, and manual pages: made from the parsers of the command line."""
