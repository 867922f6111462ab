"""Load and probes of this host's memory: placement, streams, pointer chases, bouncing lines."""
