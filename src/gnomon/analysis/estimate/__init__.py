"""The state of all events at every tick, estimated from the few that were read."""
