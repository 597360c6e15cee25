"""Functions as machine code: which program serves a call, and when a new one is made."""
