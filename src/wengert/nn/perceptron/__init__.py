"""The Mlp that allocates nothing: its programs, and the memory that it computes in."""
