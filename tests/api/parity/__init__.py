"""What the systems Wengert contains promise, and what is wrong in them, as tests."""
