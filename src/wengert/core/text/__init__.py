"""A graph as text that reads back, and as a drawing on a page."""
