"""Mistakes that can be seen while a program is recorded: what was probably meant otherwise is said,
at the user's line.
"""
