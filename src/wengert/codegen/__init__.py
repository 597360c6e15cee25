"""From graphs to machine code: kernels, their memory, and the LLVM that runs them."""
