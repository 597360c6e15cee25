"""Branches and loops: ops whose parameters are graphs."""
