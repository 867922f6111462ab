"""Links between nodes: the graph behind matrices of latency and bandwidth, and loads on it."""
