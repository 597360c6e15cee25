"""Kernels as LLVM: text, instructions, elementary functions, and the native code they become."""
