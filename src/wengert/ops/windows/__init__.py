"""Windows that move over the last axes of an array: convolutions, pooling, windows."""
