"""What can be counted, under every name that users know."""
