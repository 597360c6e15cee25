"""Gemm: products of matrices."""
