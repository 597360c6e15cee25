"""What a training step shows of itself: its trees, its settings, a description in words."""
