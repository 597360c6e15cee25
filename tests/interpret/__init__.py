"""Readings of the same calls: levels, recording, replaying."""
