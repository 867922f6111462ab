"""Measuring from inside a program: event sets, regions, overflow and profiles."""
