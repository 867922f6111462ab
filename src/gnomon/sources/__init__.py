"""Where counts come from."""
