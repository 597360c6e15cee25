"""What the end of a process, and a fork of it, must not cut in two."""
