"""Tests of compiled programs: against eager ones, against themselves, and against bad input."""
