"""Showing results: terminal tables, JSON, plots."""
