"""Losses that pair the rows of a batch by mistake."""
