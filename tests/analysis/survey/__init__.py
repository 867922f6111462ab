"""Surveys of every event."""
