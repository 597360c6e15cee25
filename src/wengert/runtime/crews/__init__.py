"""Crews: one program for many members, each with arrays of its own."""
