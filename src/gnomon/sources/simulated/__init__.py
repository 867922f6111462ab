"""What simulated sources have in common: runs in simulated time, behind a simulated PMU."""
