"""Trees of arrays and whole training steps in files."""
