"""Side-by-side measurements of gnomon and its peers, ratios taken within one run."""
