"""The function that calls of an executable go through, in machine code."""
