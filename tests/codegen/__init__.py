"""Tests of the kernels that LLVM compiles."""
