"""What the perf source does beyond the contract that all sources share."""
