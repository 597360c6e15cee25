"""Mistakes that a step can see and need not refuse: what was probably meant otherwise is said."""
