"""Ops along time."""
