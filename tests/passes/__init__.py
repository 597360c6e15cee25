"""Passes: what they make of a graph as text, and that they change no bit of its value."""
