"""Kernels: ops that have code of their own: sorting, scattering, running sums, random bits."""
