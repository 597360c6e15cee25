"""Ensembles: many training steps of one program, taken in one native call."""
