"""What every source of counts must do, whatever it counts; run against each registered case."""
