"""Targets: what is known of the machines that code is written for."""
