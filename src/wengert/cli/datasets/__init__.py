"""Data for the commands: files and built-in sets as tables, and tables as arrays to learn from."""
