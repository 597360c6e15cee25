"""Text: LLVM functions, written line by line: numbers, vectors, positions, the frame."""
