"""Optimizers as objects, whatever their rule: how they are made, copied for steps and members, run
in place, and saved.
"""
