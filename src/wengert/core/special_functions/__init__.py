"""Special functions in the instructions of `Emit`: what NumPy and native code both run."""
