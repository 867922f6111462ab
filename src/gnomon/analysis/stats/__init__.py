"""Statistics over many events at once: arrays are runs x events, one column an event."""
