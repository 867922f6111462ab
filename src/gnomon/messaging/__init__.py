"""Messaging: what sending, receiving and being told of a message cost."""
