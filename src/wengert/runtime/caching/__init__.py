"""Machine code that outlives the process."""
