"""Sweeps: one training for each of many settings, here, on the cores of this machine, or on Ray."""
