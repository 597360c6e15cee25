"""CPUs: vectors and registers, workers that share a call, how they wait, how they round."""
