"""Layers of sequences: recurrent ones, attention and state-space models.

Each computes a whole sequence, or one step after the other with a state; in compiled code both have
the same bits.
"""
