"""Graphs and tapes that are built by hand."""
