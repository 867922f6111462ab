"""Where counts come from; `gnomon.sources.registry` finds a source by the word that chooses it."""
