"""What all benchmarks share: timing, statistics, results and their display."""
