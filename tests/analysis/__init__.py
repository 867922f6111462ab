"""From readings to results."""
