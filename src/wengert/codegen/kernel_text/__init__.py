"""The kernel language as text: what `show` writes of a program after any stage, `read` reads."""
