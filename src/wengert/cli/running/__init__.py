"""A training run of the command line: its network, its folder, its progress."""
