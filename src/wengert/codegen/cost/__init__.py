"""Cost: how much work ops and kernels are."""
