"""L-BFGS."""
