"""The checkers are checked: each must report a planted fault, and let a right op pass."""
