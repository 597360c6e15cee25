"""Running compiled programs: their memory, and what they are called with."""
