"""Memory: in which order kernels run, and where in the arena every array lies."""
