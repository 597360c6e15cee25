"""Orthogonal factors: reflections, rotations, eigenvalues and singular values."""
