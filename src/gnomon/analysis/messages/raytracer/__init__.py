"""A small isosurface ray tracer over software shared memory, in real processes.

Bricks of a volume live on home nodes, which are processes; other nodes ask for them and keep
some in a direct-mapped cache. Each process has a communicator and some renderers. It measures
itself with regions: what a miss costs, how misses grow with nodes, renderers and the size of
bricks, and what it costs when the wrong thread is woken.
"""
