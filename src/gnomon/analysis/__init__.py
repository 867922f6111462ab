"""From recordings to results."""
